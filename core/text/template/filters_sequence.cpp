// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "text/template/access.h"
#include "text/template/filters.h"
#include "text/template/iterator.h"
#include "text/template/lexer.h"
#include "text/template/operators.h"
#include "text/template/repr.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

// Strings in lower case, other values as they are.
Value fold_case(Runtime& runtime, const Value& value) {
    if (!value.is_string()) return value;
    runtime.spend_scan(value.as_string().text.size());
    return runtime.string(change_case(value.as_string().text, Case::lower));
}

Value key_of(Runtime& runtime, const Value& item, const Value& attribute, bool case_sensitive) {
    const Value key = get_path(runtime, item, attribute);
    return case_sensitive ? key : fold_case(runtime, key);
}

// The keys of a comma-separated list of attributes, as a list even for one: lists compare their
// items for equality first, so that two undefined keys are not an error.
Value keys_of(Runtime& runtime, const Value& item, const Value& attributes, bool case_sensitive) {
    std::vector<Value> keys;
    if (attributes.is_string() &&
        attributes.as_string().view().find(',') != std::string_view::npos) {
        const Value parts = split_text(runtime, attributes.as_string().text, ",", -1);
        if (runtime.failed()) return parts;
        for (const Value& part : parts.as_list().items) {
            keys.push_back(key_of(runtime, item, part, case_sensitive));
        }
    } else {
        keys.push_back(key_of(runtime, item, attributes, case_sensitive));
    }
    return runtime.list(std::move(keys));
}

// Sorts by keys, stably; reversed order keeps equal items in place, as Python's sorted().
std::vector<Value> sort_by(Runtime& runtime, const std::vector<Value>& items,
                           const std::vector<Value>& keys, bool reverse) {
    std::vector<size_t> order(items.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (reverse) std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return runtime.spend() && runtime.ordered(keys[a], keys[b], "<");
    });
    if (reverse) std::reverse(order.begin(), order.end());
    std::vector<Value> sorted;
    sorted.reserve(items.size());
    for (const size_t index : order) sorted.push_back(items[index]);
    return sorted;
}

Value attribute_filter(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (self.is_undefined()) return runtime.fail_undefined(self);
    if (!arguments[0].is_string()) return runtime.undefined_member(self, arguments[0]);
    // An attribute, never an item.
    return self.is(Kind::dict) && find_method(self, arguments[0].as_string().view()) == nullptr
               ? runtime.undefined_member(self, arguments[0])
               : get_attribute(runtime, self, arguments[0]);
}

Value dictsort(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (self.is_undefined()) return runtime.fail_undefined(self);
    if (!self.is(Kind::dict)) {
        return runtime.fail(fmt::format("'{}' object has no attribute 'items'", type_name(self)));
    }
    const bool case_sensitive = truth_argument(arguments, 0, false);
    std::string_view by = "key";
    if (arguments.has(1)) by = text_argument(runtime, arguments[1]).view();
    if (by != "key" && by != "value") {
        return runtime.fail("You can only sort by either \"key\" or \"value\"");
    }
    std::vector<Value> items, keys;
    for (const Dict::Entry& entry : self.as_dict().entries) {
        if (!runtime.spend()) return runtime.fail("");
        items.push_back(runtime.tuple({entry.key, entry.value}));
        const Value& key = by == "key" ? entry.key : entry.value;
        keys.push_back(case_sensitive ? key : fold_case(runtime, key));
    }
    return runtime.list(sort_by(runtime, items, keys, truth_argument(arguments, 2, false)));
}

Value first(Runtime& runtime, const Value& self, Arguments&) {
    Cursor cursor;
    Value item;
    if (!cursor.open(runtime, self)) return runtime.fail("");
    if (cursor.next(runtime, item)) return item;
    return runtime.undefined_hint("No first item, sequence was empty.");
}

Value last(Runtime& runtime, const Value& self, Arguments&) {
    std::vector<Value> items;
    if (!length_of(self)) {
        return runtime.fail(fmt::format("'{}' object is not reversible", type_name(self)));
    }
    if (self.is_string() || self.is_sequence() || self.is(Kind::range)) {
        const Value item =
            *length_of(self) == 0 ? Value() : get_item(runtime, self, Value::integer(-1));
        if (!item.is_missing()) return item;
    } else {
        if (!collect(runtime, self, items)) return runtime.fail("");
        if (!items.empty()) return items.back();
    }
    return runtime.undefined_hint("No last item, sequence was empty.");
}

Value length(Runtime& runtime, const Value& self, Arguments&) {
    if (self.is(Kind::loop)) return loop_attribute(runtime, self, "length");
    if (const auto size = length_of(self)) return Value::size(*size);
    return runtime.fail(fmt::format("object of type '{}' has no len()", type_name(self)));
}

Value list_filter(Runtime& runtime, const Value& self, Arguments&) {
    std::vector<Value> items;
    if (!collect(runtime, self, items)) return runtime.fail("");
    Value out = runtime.list(std::move(items));
    if (self.is_sequence()) out.as_list().is_content = self.as_list().is_content;
    return out;
}

Value groupby(Runtime& runtime, const Value& self, Arguments& arguments) {
    std::vector<Value> items, keys, groups;
    if (!collect(runtime, self, items)) return runtime.fail("");
    const bool has_default = arguments.has(1) && !arguments[1].is_none();
    const bool case_sensitive = truth_argument(arguments, 2, false);
    const auto key_for = [&](const Value& item, bool exact) {
        Value key = get_path(runtime, item, arguments[0]);
        if (key.is_undefined() && has_default) key = arguments[1];
        return exact ? key : fold_case(runtime, key);
    };
    for (const Value& item : items) keys.push_back(key_for(item, case_sensitive));
    items = sort_by(runtime, items, keys, false);
    for (size_t begin = 0; begin < items.size() && !runtime.failed();) {
        const Value key = key_for(items[begin], case_sensitive);
        std::vector<Value> members;
        size_t end = begin;
        while (end < items.size() && runtime.equal(key, key_for(items[end], case_sensitive))) {
            members.push_back(items[end++]);
        }
        if (end == begin) break;  // only after a failure
        Value group =
            runtime.tuple({key_for(items[begin], true), runtime.list(std::move(members))});
        group.as_list().is_group = true;
        groups.push_back(std::move(group));
        begin = end;
    }
    return runtime.list(std::move(groups));
}

Value join(Runtime& runtime, const Value& self, Arguments& arguments) {
    std::vector<Value> items;
    if (!collect(runtime, self, items)) return runtime.fail("");
    if (arguments.has(1) && !arguments[1].is_none()) {
        for (Value& item : items) item = get_path(runtime, item, arguments[1]);
    }
    Text scratch;
    return join_values(runtime, arguments.has(0) ? str(runtime, arguments[0], scratch) : scratch,
                       items);
}

template <bool wants_max>
Value extreme(Runtime& runtime, const Value& self, Arguments& arguments) {
    const bool case_sensitive = truth_argument(arguments, 0, false);
    const Value attribute = arguments.has(1) ? arguments[1] : Value();
    Cursor cursor;
    Value item, best, best_key;
    if (!cursor.open(runtime, self)) return runtime.fail("");
    while (cursor.next(runtime, item)) {
        const Value key = key_of(runtime, item, attribute, case_sensitive);
        if (best.is_missing() || runtime.ordered(key, best_key, wants_max ? ">" : "<")) {
            best = item;
            best_key = key;
        }
    }
    if (!best.is_missing()) return best;
    return runtime.undefined_hint("No aggregated item, sequence was empty.");
}

Value reverse(Runtime& runtime, const Value& self, Arguments&) {
    if (self.is_string()) {
        return get_slice(runtime, self, Value(), Value(), Value::integer(-1));
    }
    if (!is_iterable(self)) return runtime.fail("argument must be iterable");
    std::vector<Value> items;
    if (!collect(runtime, self, items)) return runtime.fail("");
    std::reverse(items.begin(), items.end());
    if (self.is(Kind::iterator)) return runtime.list(std::move(items));
    const size_t bytes = items.size() * sizeof(Value);
    return Value(make_object<BufferedIterator>(
        runtime.heap(), bytes, self.is(Kind::list) ? "list_reverseiterator" : "reversed",
        std::move(items)));
}

Value sort(Runtime& runtime, const Value& self, Arguments& arguments) {
    const bool reversed = truth_argument(arguments, 0, false);
    const bool case_sensitive = truth_argument(arguments, 1, false);
    const Value attribute = arguments.has(2) ? arguments[2] : Value();
    std::vector<Value> items, keys;
    if (!collect(runtime, self, items)) return runtime.fail("");
    keys.reserve(items.size());
    for (const Value& item : items)
        keys.push_back(keys_of(runtime, item, attribute, case_sensitive));
    if (runtime.failed()) return runtime.fail("");
    return runtime.list(sort_by(runtime, items, keys, reversed));
}

Value sum(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value attribute = arguments.has(0) ? arguments[0] : Value();
    Value total = arguments.has(1) ? arguments[1] : Value::integer(0);
    if (total.is_string())
        return runtime.fail("sum() can't sum strings [use ''.join(seq) instead]");
    Cursor cursor;
    Value item;
    if (!cursor.open(runtime, self)) return runtime.fail("");
    while (cursor.next(runtime, item)) {
        total = apply_operator(runtime, TokenType::add, total, get_path(runtime, item, attribute));
    }
    return total;
}

}  // namespace

std::span<const Builtin> sequence_filters() {
    static constexpr Builtin kTable[] = {
        {"attr", "name", attribute_filter},
        {"count", "", length},
        {"dictsort", "case_sensitive? by? reverse?", dictsort},
        {"first", "", first},
        {"groupby", "attribute default? case_sensitive?", groupby},
        {"join", "d? attribute?", join},
        {"last", "", last},
        {"length", "", length},
        {"list", "", list_filter},
        {"max", "case_sensitive? attribute?", extreme<true>},
        {"min", "case_sensitive? attribute?", extreme<false>},
        {"reverse", "", reverse},
        {"sort", "reverse? case_sensitive? attribute?", sort},
        {"sum", "attribute? start?", sum},
    };
    return kTable;
}

}  // namespace hokku::jinja
