// SPDX-License-Identifier: Apache-2.0
#include "text/template/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "text/template/builtin.h"
#include "text/template/compare.h"
#include "text/template/iterator.h"
#include "text/template/macro.h"
#include "text/template/runtime.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

// Fields of values that are not methods; missing if there is none of that name.
Value field(Runtime& runtime, const Value& object, std::string_view name) {
    switch (object.kind()) {
        case Kind::name_space: {
            const Value* const found = object.as<Namespace>().attributes->find(name);
            return found == nullptr ? Value() : *found;
        }
        case Kind::tuple:
            if (object.as_list().is_group && name == "grouper") return object.as_list().items[0];
            if (object.as_list().is_group && name == "list") return object.as_list().items[1];
            return {};
        case Kind::range: {
            const Range& range = object.as<Range>();
            if (name == "start") return Value::integer(range.start);
            if (name == "stop") return Value::integer(range.stop);
            if (name == "step") return Value::integer(range.step);
            return {};
        }
        case Kind::macro:
            if (name == "name") return runtime.string(macro_name(object));
            return {};
        case Kind::cycler: {
            const Cycler& cycler = object.as<Cycler>();
            if (name == "current") return cycler.items[cycler.position];
            return {};
        }
        case Kind::loop:
            return loop_attribute(runtime, object, name);
        default:
            return {};
    }
}

// The attribute or method, missing if there is none.
Value own_attribute(Runtime& runtime, const Value& object, std::string_view name) {
    Value found = field(runtime, object, name);
    if (!found.is_missing()) return found;
    if (const Builtin* const method = find_method(object, name)) {
        return Value(make_object<Method>(runtime.heap(), 0, object, method));
    }
    return {};
}

// Item at a Python index; missing if out of range.
template <class At>
Value indexed(int64_t index, size_t size, At at) {
    if (index < 0) index += static_cast<int64_t>(size);
    if (index < 0 || index >= static_cast<int64_t>(size)) return {};
    return at(static_cast<size_t>(index));
}

Value char_at(Runtime& runtime, const String& string, size_t index) {
    const size_t begin = string.is_ascii() ? index : byte_position(string.view(), index);
    if (!string.is_ascii()) runtime.spend(begin / 32);
    size_t end = begin;
    next_char(string.view(), end);
    return runtime.string(string.text.slice(begin, end));
}

// The item, missing if there is none.
Value own_item(Runtime& runtime, const Value& object, const Value& key) {
    if (object.is(Kind::dict)) {
        if (!is_hashable(key)) return {};  // an error in Python, which Jinja turns into undefined
        if (!runtime.check_key(key)) return {};
        const Value* const found = object.as_dict().find(key);
        return found == nullptr ? Value() : *found;
    }
    if (!key.is_integral()) return {};
    const int64_t index = key.as_integer();
    switch (object.kind()) {
        case Kind::list:
        case Kind::tuple: {
            const auto& items = object.as_list().items;
            return indexed(index, items.size(), [&](size_t i) { return items[i]; });
        }
        case Kind::string: {
            const String& string = object.as_string();
            return indexed(index, string.num_chars,
                           [&](size_t i) { return char_at(runtime, string, i); });
        }
        case Kind::range: {
            const Range& range = object.as<Range>();
            return indexed(index, static_cast<size_t>(range.count), [&](size_t i) {
                return Value::integer(range.at(static_cast<int64_t>(i)));
            });
        }
        default:
            return {};
    }
}

struct Slice {
    int64_t start = 0, step = 1;
    size_t count = 0;
};

// Python's slice.indices().
std::optional<Slice> resolve_slice(Runtime& runtime, size_t size, const Value& start,
                                   const Value& stop, const Value& step) {
    const auto is_given = [](const Value& part) { return !part.is_missing() && !part.is_none(); };
    for (const Value* part : {&start, &stop, &step}) {
        if (is_given(*part) && !part->is_integral()) {
            runtime.fail("slice indices must be integers or None or have an __index__ method");
            return std::nullopt;
        }
    }
    const auto length = static_cast<int64_t>(size);
    Slice out;
    if (is_given(step)) out.step = step.as_integer();
    if (out.step == 0) {
        runtime.fail("slice step cannot be zero");
        return std::nullopt;
    }
    out.step = std::clamp(out.step, -INT64_MAX, INT64_MAX);
    const int64_t lowest = out.step < 0 ? -1 : 0;
    const int64_t highest = out.step < 0 ? length - 1 : length;
    const auto clamp = [&](int64_t index) {
        if (index < 0) return std::max(index + length, lowest);
        return std::min(index, highest);
    };
    out.start = is_given(start) ? clamp(start.as_integer()) : out.step < 0 ? highest : lowest;
    const int64_t end = is_given(stop) ? clamp(stop.as_integer()) : out.step < 0 ? lowest : highest;
    if (out.step > 0 && out.start < end) {
        out.count = static_cast<size_t>((end - out.start - 1) / out.step + 1);
    } else if (out.step < 0 && out.start > end) {
        out.count = static_cast<size_t>((out.start - end - 1) / -out.step + 1);
    }
    return out;
}

Value slice_string(Runtime& runtime, const String& string, const Slice& slice) {
    if (slice.count == 0) return runtime.string("");
    const std::string_view view = string.view();
    runtime.spend(view.size() / 32);
    const auto start = static_cast<size_t>(slice.start);
    if (slice.step == 1) {
        const size_t begin = string.is_ascii() ? start : byte_position(view, start);
        const size_t end = string.is_ascii()
                               ? begin + slice.count
                               : begin + byte_position(view.substr(begin), slice.count);
        return runtime.string(string.text.slice(begin, end));
    }
    if (!runtime.spend_scan(view.size()) || !runtime.reserve(string.num_chars * sizeof(uint32_t))) {
        return runtime.fail("");
    }
    std::vector<uint32_t> starts;  // byte position of each code point
    starts.reserve(string.num_chars);
    for (size_t i = 0; i < view.size();) {
        starts.push_back(static_cast<uint32_t>(i));
        next_char(view, i);
    }
    Text out;
    for (size_t i = 0; i < slice.count; ++i) {
        const auto index = static_cast<size_t>(slice.start + static_cast<int64_t>(i) * slice.step);
        size_t end = starts[index];
        next_char(view, end);
        out.add(string.text, starts[index], end);
    }
    return runtime.string(std::move(out));
}

}  // namespace

Value get_attribute(Runtime& runtime, const Value& object, const Value& name) {
    if (object.is_undefined()) return runtime.fail_undefined(object);
    const std::string_view text = name.as_string().view();
    Value found = own_attribute(runtime, object, text);
    if (found.is_missing() && object.is(Kind::dict)) found = own_item(runtime, object, name);
    if (!found.is_missing()) return found;
    return text.starts_with("__") ? runtime.undefined_unsafe(object, text)
                                  : runtime.undefined_member(object, name);
}

Value get_item(Runtime& runtime, const Value& object, const Value& key) {
    if (object.is_undefined()) return runtime.fail_undefined(object);
    Value found = own_item(runtime, object, key);
    if (!found.is_missing()) return found;
    if (!key.is_string()) return runtime.undefined_member(object, key);
    const std::string_view text = key.as_string().view();
    found = own_attribute(runtime, object, text);
    if (!found.is_missing()) return found;
    return text.starts_with("__") ? runtime.undefined_unsafe(object, text)
                                  : runtime.undefined_member(object, key);
}

Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
                const Value& step) {
    if (object.is_undefined()) return runtime.fail_undefined(object);
    if (!object.is_string() && !object.is_sequence() && !object.is(Kind::range)) {
        return runtime.fail(object.is(Kind::dict) ? "unhashable type: 'slice'"
                                                  : fmt::format("'{}' object is not subscriptable",
                                                                type_name(object)));
    }
    const auto slice = resolve_slice(runtime, *length_of(object), start, stop, step);
    if (!slice) return runtime.fail("");
    if (object.is_string()) return slice_string(runtime, object.as_string(), *slice);
    if (object.is(Kind::range)) {
        const Range& range = object.as<Range>();
        const auto by = static_cast<uint64_t>(range.step) * static_cast<uint64_t>(slice->step);
        const int64_t first = range.at(slice->start);
        const uint64_t end = static_cast<uint64_t>(first) + by * slice->count;
        return Value(make_object<Range>(runtime.heap(), 0, first, static_cast<int64_t>(end),
                                        slice->count > 1 ? static_cast<int64_t>(by) : 1));
    }
    if (!runtime.reserve(slice->count * sizeof(Value))) return runtime.fail("");
    const List& list = object.as_list();
    std::vector<Value> items;
    items.reserve(slice->count);
    for (size_t i = 0; i < slice->count; ++i) {
        items.push_back(
            list.items[static_cast<size_t>(slice->start + static_cast<int64_t>(i) * slice->step)]);
    }
    Value out = runtime.sequence(list.kind, std::move(items));
    out.as_list().is_content = list.is_content;
    return out;
}

Value get_path(Runtime& runtime, const Value& object, const Value& path) {
    if (path.is_missing() || path.is_none()) return object;
    if (!path.is_string()) return get_item(runtime, object, path);
    Value value = object;
    std::string_view rest = path.as_string().view();
    while (runtime.spend()) {
        const size_t dot = std::min(rest.find('.'), rest.size());
        const std::string_view part = rest.substr(0, dot);
        int64_t index = 0;
        const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
        const bool is_index = !part.empty() && part[0] != '-' && parsed.ec == std::errc() &&
                              parsed.ptr == part.data() + part.size();
        value = get_item(runtime, value, is_index ? Value::integer(index) : runtime.string(part));
        if (dot == rest.size() || runtime.failed()) return value;
        rest.remove_prefix(dot + 1);
    }
    return value;
}

}  // namespace hokku::jinja
