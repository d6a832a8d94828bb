// SPDX-License-Identifier: Apache-2.0
#include "text/template/iterator.h"

#include <fmt/format.h>

#include "text/template/runtime.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

bool is_iterable(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
        case Kind::string:
        case Kind::list:
        case Kind::tuple:
        case Kind::dict:
        case Kind::view:
        case Kind::range:
        case Kind::iterator:
            return true;
        default:
            return false;
    }
}

bool Cursor::open(Runtime& runtime, const Value& source) {
    if (!is_iterable(source)) {
        runtime.fail(fmt::format("'{}' object is not iterable", type_name(source)));
        return false;
    }
    source_ = source;
    index_ = 0;
    return true;
}

bool Cursor::next(Runtime& runtime, Value& item) {
    if (!runtime.spend()) return false;
    switch (source_.kind()) {
        case Kind::string: {
            const Text& text = source_.as_string().text;
            if (index_ >= text.size()) return false;
            const size_t start = index_;
            next_char(text.bytes, index_);
            item = runtime.string(text.slice(start, index_));
            return true;
        }
        case Kind::list:
        case Kind::tuple: {
            const std::vector<Value>& items = source_.as_list().items;
            if (index_ >= items.size()) return false;
            item = items[index_++];
            return true;
        }
        case Kind::dict: {
            const auto& entries = source_.as_dict().entries;
            if (index_ >= entries.size()) return false;
            item = entries[index_++].key;
            return true;
        }
        case Kind::view: {
            const View& view = source_.as<View>();
            const auto& entries = view.dict.as_dict().entries;
            if (index_ >= entries.size()) return false;
            const Dict::Entry& entry = entries[index_++];
            if (view.part == View::Part::keys) item = entry.key;
            if (view.part == View::Part::values) item = entry.value;
            if (view.part == View::Part::items) item = runtime.tuple({entry.key, entry.value});
            return true;
        }
        case Kind::range: {
            const Range& range = source_.as<Range>();
            if (static_cast<int64_t>(index_) >= range.count) return false;
            item = Value::integer(range.at(static_cast<int64_t>(index_++)));
            return true;
        }
        case Kind::iterator:
            return source_.as<Iterator>().next(runtime, item);
        default:
            return false;
    }
}

bool BufferedIterator::next(Runtime&, Value& item) {
    if (position >= items.size()) return false;
    item = items[position++];
    return true;
}

std::optional<size_t> length_of(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return 0;
        case Kind::string:
            return value.as_string().num_chars;
        case Kind::list:
        case Kind::tuple:
            return value.as_list().items.size();
        case Kind::dict:
            return value.as_dict().entries.size();
        case Kind::view:
            return value.as<View>().dict.as_dict().entries.size();
        case Kind::range:
            return static_cast<size_t>(value.as<Range>().count);
        default:
            return std::nullopt;
    }
}

bool collect(Runtime& runtime, const Value& source, std::vector<Value>& items) {
    Cursor cursor;
    if (!cursor.open(runtime, source)) return false;
    Value item;
    while (cursor.next(runtime, item)) {
        if (items.size() == items.capacity() &&
            !runtime.reserve(items.size() * sizeof(Value) * 2)) {
            return false;
        }
        items.push_back(std::move(item));
    }
    return !runtime.failed();
}

}  // namespace hokku::jinja
