// SPDX-License-Identifier: Apache-2.0
// Iterator: a one-shot lazy sequence (the result of map, select, ...). Cursor: one walk over any
// value that can be iterated.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

/// Python generator or iterator: has no length, prints as an object, can be consumed once.
struct Iterator : Object {
    explicit Iterator(const char* type_name_shown = "generator")
        : Object(Kind::iterator), type(type_name_shown) {}
    /// false at the end, or after a failure of the rendering.
    virtual bool next(Runtime& runtime, Value& item) = 0;

    const char* const type;
};

class Cursor {
  public:
    /// Fails the rendering and returns false if the value cannot be iterated.
    [[nodiscard]] bool open(Runtime& runtime, const Value& source);
    /// false at the end, or after a failure of the rendering.
    [[nodiscard]] bool next(Runtime& runtime, Value& item);
    [[nodiscard]] bool is_open() const { return !source_.is_missing(); }
    void close() { source_ = Value(); }

  private:
    Value source_;
    size_t index_ = 0;  // of the next item; in strings its byte position
};

/// Items computed beforehand, handed out one by one.
struct BufferedIterator : Iterator {
    BufferedIterator(const char* type_name_shown, std::vector<Value> values)
        : Iterator(type_name_shown), items(std::move(values)) {}
    bool next(Runtime& runtime, Value& item) override;
    void clear() override { std::vector<Value>().swap(items); }
    std::vector<Value> items;
    size_t position = 0;
};

bool is_iterable(const Value& value);
/// Python's len(); nullopt for values without one.
std::optional<size_t> length_of(const Value& value);
/// All items of an iterable; false after a failure.
[[nodiscard]] bool collect(Runtime& runtime, const Value& source, std::vector<Value>& items);

}  // namespace hokku::jinja
