// SPDX-License-Identifier: Apache-2.0
// Value: what a template expression evaluates to, with the semantics of the Python value it stands
// for. Small (16 bytes), copied by value; strings and containers are shared heap objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/marked_text.h"
#include "text/template/object.h"

namespace hokku::jinja {

/// Deepest nesting of lists and dicts that is read, printed or compared.
constexpr int kMaxNesting = 200;

struct Builtin;
struct String;
struct List;
struct Dict;

class Value {
  public:
    Value() : Value(Kind::missing) {}
    Value(const Value& other) : kind_(other.kind_), data_(other.data_) { keep(); }
    Value(Value&& other) noexcept : kind_(other.kind_), data_(other.data_) {
        other.kind_ = Kind::missing;
    }
    Value& operator=(Value other) noexcept {
        std::swap(kind_, other.kind_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~Value() { drop(); }

    template <class T>
    Value(const Ref<T>& object) : kind_(object->kind) {
        data_.object = object.get();
        keep();
    }
    explicit Value(Object* object) : kind_(object->kind) {
        data_.object = object;
        keep();
    }
    static Value none() { return Value(Kind::none); }
    static Value boolean(bool value) {
        Value out(Kind::boolean);
        out.data_.integer = value ? 1 : 0;
        return out;
    }
    static Value integer(int64_t value) {
        Value out(Kind::integer);
        out.data_.integer = value;
        return out;
    }
    static Value size(size_t value) { return integer(static_cast<int64_t>(value)); }
    static Value floating(double value) {
        Value out(Kind::floating);
        out.data_.floating = value;
        return out;
    }
    static Value function(const Builtin* builtin) {
        Value out(Kind::function);
        out.data_.builtin = builtin;
        return out;
    }

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
    [[nodiscard]] bool is_missing() const { return kind_ == Kind::missing; }
    [[nodiscard]] bool is_undefined() const { return kind_ == Kind::undefined; }
    [[nodiscard]] bool is_none() const { return kind_ == Kind::none; }
    [[nodiscard]] bool is_string() const { return kind_ == Kind::string; }
    [[nodiscard]] bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }
    /// int or bool, which Python treats alike in arithmetic.
    [[nodiscard]] bool is_integral() const {
        return kind_ == Kind::integer || kind_ == Kind::boolean;
    }
    [[nodiscard]] bool is_number() const { return is_integral() || kind_ == Kind::floating; }

    // The following need the matching kind.
    [[nodiscard]] bool as_boolean() const { return data_.integer != 0; }
    [[nodiscard]] int64_t as_integer() const { return data_.integer; }
    /// The number as a double; needs is_number().
    [[nodiscard]] double as_double() const {
        return kind_ == Kind::floating ? data_.floating : static_cast<double>(data_.integer);
    }
    [[nodiscard]] const Builtin& as_function() const { return *data_.builtin; }
    [[nodiscard]] Object* object() const { return data_.object; }
    [[nodiscard]] const String& as_string() const;
    [[nodiscard]] List& as_list() const;  ///< List or tuple.
    [[nodiscard]] Dict& as_dict() const;
    template <class T>
    [[nodiscard]] T& as() const {
        return *static_cast<T*>(data_.object);
    }

  private:
    explicit Value(Kind kind) : kind_(kind) { data_.integer = 0; }
    void keep() const {
        if (kind_ >= Kind::undefined) retain(data_.object);
    }
    void drop() const {
        if (kind_ >= Kind::undefined) release(data_.object);
    }

    Kind kind_;
    union {
        int64_t integer;
        double floating;
        const Builtin* builtin;
        Object* object;
    } data_;
};

/// str. Immutable.
struct String : Object {
    explicit String(Text value);
    [[nodiscard]] std::string_view view() const { return text.bytes; }
    [[nodiscard]] bool is_ascii() const { return num_chars == text.size(); }

    const Text text;
    const size_t num_chars;  ///< Code points.
};

/// An int beyond 64 bits; can be printed and compared for equality, not calculated with.
struct BigInteger : Object {
    explicit BigInteger(std::string value) : Object(Kind::big_integer), digits(std::move(value)) {}
    const std::string digits;
};

/// list or tuple.
struct List : Object {
    explicit List(Kind list_or_tuple, std::vector<Value> values = {})
        : Object(list_or_tuple), items(std::move(values)) {}
    void clear() override { std::vector<Value>().swap(items); }
    void push(Value value);

    std::vector<Value> items;
    bool is_content = false;  ///< Came from the input as a whole, punctuation included.
    bool is_group = false;    ///< A named tuple (grouper, list) of the groupby filter.
};

/// dict in insertion order; keys are hashable values.
struct Dict : Object {
    struct Entry {
        Value key, value;
        size_t hash = 0;
    };
    Dict() : Object(Kind::dict) {}
    void clear() override;

    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] const Value* find(const Value& key) const;
    /// Replaces the value of an equal key, which keeps its place, or appends.
    void set(Value key, Value value);
    /// Removes entry `index`.
    void erase(size_t index);
    [[nodiscard]] size_t index_of(const Value& key) const;

    static constexpr size_t kNotFound = ~size_t{0};
    std::vector<Entry> entries;
    bool is_content = false;

  private:
    [[nodiscard]] size_t locate(size_t hash, const Value& key) const;
    void rebuild_slots();
    std::vector<uint32_t> slots_;  // open addressing over entries; empty while there are few
};

/// Why a value is undefined; the message appears when it is used.
struct Undefined : Object {
    enum class Cause : uint8_t { name, attribute, element, hint, unsafe };
    Undefined(Cause undefined_cause, Value value, const char* type)
        : Object(Kind::undefined),
          cause(undefined_cause),
          subject(std::move(value)),
          type_name(type) {}
    void clear() override { subject = Value(); }

    const Cause cause;
    Value subject;          ///< Name, key or hint.
    const char* type_name;  ///< Of the object that lacks it.
};

/// dict.keys(), .values(), .items(): a window on a dict.
struct View : Object {
    enum class Part : uint8_t { keys, values, items };
    View(Value of, Part which) : Object(Kind::view), dict(std::move(of)), part(which) {}
    void clear() override { dict = Value(); }

    Value dict;
    const Part part;
};

struct Range : Object {
    Range(int64_t first, int64_t end, int64_t by);
    /// Wraps around instead of overflowing where `index` is outside.
    [[nodiscard]] int64_t at(int64_t index) const {
        return static_cast<int64_t>(static_cast<uint64_t>(start) +
                                    static_cast<uint64_t>(index) * static_cast<uint64_t>(step));
    }

    const int64_t start, stop, step, count;
};

/// namespace(): the one mutable cell that loops and macros can write to.
struct Namespace : Object {
    explicit Namespace(Ref<Dict> values)
        : Object(Kind::name_space), attributes(std::move(values)) {}
    void clear() override { attributes = Ref<Dict>(); }
    Ref<Dict> attributes;
};

/// A built-in method taken off its object: "abc".upper.
struct Method : Object {
    Method(Value bound_to, const Builtin* method)
        : Object(Kind::method), self(std::move(bound_to)), builtin(method) {}
    void clear() override { self = Value(); }
    Value self;
    const Builtin* builtin;
};

struct Cycler : Object {
    explicit Cycler(std::vector<Value> values) : Object(Kind::cycler), items(std::move(values)) {}
    void clear() override { std::vector<Value>().swap(items); }
    std::vector<Value> items;
    size_t position = 0;
};

struct Joiner : Object {
    explicit Joiner(Value text) : Object(Kind::joiner), separator(std::move(text)) {}
    void clear() override { separator = Value(); }
    Value separator;
    bool is_used = false;
};

inline const String& Value::as_string() const {
    return *static_cast<const String*>(data_.object);
}
inline List& Value::as_list() const {
    return *static_cast<List*>(data_.object);
}
inline Dict& Value::as_dict() const {
    return *static_cast<Dict*>(data_.object);
}

/// The name that Python gives the type: "str", "NoneType", "dict".
const char* type_name(const Value& value);
/// Python's bool(value).
bool is_truthy(const Value& value);

}  // namespace hokku::jinja
