// SPDX-License-Identifier: Apache-2.0
// The methods of list, tuple, dict, loop, cycler and float. Those that change a list or dict work
// here, although Jinja's immutable sandbox refuses them: templates that call them mean it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/template/compare.h"
#include "text/template/filters.h"
#include "text/template/iterator.h"
#include "text/template/macro.h"
#include "text/template/methods.h"
#include "text/template/repr.h"

namespace hokku::jinja {

namespace {

std::vector<Value>& items_of(const Value& self) {
    return self.as_list().items;
}

// ---- list ----

Value append(Runtime&, const Value& self, Arguments& arguments) {
    self.as_list().push(arguments[0]);
    return Value::none();
}

Value clear_list(Runtime&, const Value& self, Arguments&) {
    items_of(self).clear();
    return Value::none();
}

Value copy_list(Runtime& runtime, const Value& self, Arguments&) {
    if (!runtime.reserve(items_of(self).size() * sizeof(Value))) return runtime.fail("");
    return runtime.list(items_of(self));
}

Value count_item(Runtime& runtime, const Value& self, Arguments& arguments) {
    int64_t count = 0;
    for (const Value& item : items_of(self)) count += runtime.equal(item, arguments[0]) ? 1 : 0;
    return Value::integer(count);
}

Value extend(Runtime& runtime, const Value& self, Arguments& arguments) {
    std::vector<Value> more;
    if (!collect(runtime, arguments[0], more)) return runtime.fail("");
    for (Value& item : more) self.as_list().push(std::move(item));
    return Value::none();
}

// Position of an equal item, the size if there is none.
size_t position_of(Runtime& runtime, const Value& self, const Value& wanted) {
    const auto& items = items_of(self);
    size_t index = 0;
    while (index < items.size() && !runtime.equal(items[index], wanted)) ++index;
    return index;
}

Value index_of_item(Runtime& runtime, const Value& self, Arguments& arguments) {
    const size_t index = position_of(runtime, self, arguments[0]);
    if (index < items_of(self).size()) return Value::size(index);
    return runtime.fail(fmt::format("{} is not in list", repr(runtime, arguments[0])));
}

Value insert(Runtime& runtime, const Value& self, Arguments& arguments) {
    auto& items = items_of(self);
    const auto size = static_cast<int64_t>(items.size());
    int64_t index = integer_argument(runtime, arguments[0]);
    if (index < 0) index = std::max<int64_t>(index + size, 0);
    index = std::min(index, size);
    if (!runtime.spend(items.size() / 16 + 1)) return runtime.fail("");
    self.as_list().push(arguments[1]);
    std::rotate(items.begin() + index, items.end() - 1, items.end());
    return Value::none();
}

Value pop_item(Runtime& runtime, const Value& self, Arguments& arguments) {
    auto& items = items_of(self);
    const auto size = static_cast<int64_t>(items.size());
    int64_t index = integer_argument(runtime, arguments, 0, -1);
    if (index < 0) index += size;
    if (items.empty()) return runtime.fail("pop from empty list");
    if (index < 0 || index >= size) return runtime.fail("pop index out of range");
    runtime.spend(static_cast<uint64_t>(size - index) / 16);
    Value item = std::move(items[static_cast<size_t>(index)]);
    items.erase(items.begin() + index);
    return item;
}

Value remove_item(Runtime& runtime, const Value& self, Arguments& arguments) {
    const size_t index = position_of(runtime, self, arguments[0]);
    if (index == items_of(self).size()) return runtime.fail("list.remove(x): x not in list");
    items_of(self).erase(items_of(self).begin() + static_cast<std::ptrdiff_t>(index));
    return Value::none();
}

Value reverse_list(Runtime& runtime, const Value& self, Arguments&) {
    runtime.spend(items_of(self).size() / 16);
    std::reverse(items_of(self).begin(), items_of(self).end());
    return Value::none();
}

Value sort_list(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (arguments.has(0) && !arguments[0].is_none())
        return runtime.fail("sort() takes no key here");
    Arguments of_filter;
    of_filter.positional = {Value::boolean(truth_argument(arguments, 1, false)),
                            Value::boolean(true)};
    const Value sorted = call_filter(runtime, "sort", self, of_filter);
    if (runtime.failed()) return runtime.fail("");
    items_of(self) = sorted.as_list().items;
    return Value::none();
}

constexpr Builtin kListMethods[] = {
    {"append", "object", append},
    {"clear", "", clear_list},
    {"copy", "", copy_list},
    {"count", "value", count_item},
    {"extend", "iterable", extend},
    {"index", "value", index_of_item},
    {"insert", "index object", insert},
    {"pop", "index?", pop_item},
    {"remove", "value", remove_item},
    {"reverse", "", reverse_list},
    {"sort", "key? reverse?", sort_list},
};
constexpr Builtin kTupleMethods[] = {
    {"count", "value", count_item},
    {"index", "value", index_of_item},
};

// ---- dict ----

Value clear_dict(Runtime&, const Value& self, Arguments&) {
    self.as_dict().clear();
    return Value::none();
}

Value copy_dict(Runtime& runtime, const Value& self, Arguments&) {
    const auto copy = runtime.dict();
    for (const Dict::Entry& entry : self.as_dict().entries) {
        if (!runtime.spend()) return runtime.fail("");
        copy->set(entry.key, entry.value);
    }
    copy->is_content = self.as_dict().is_content;
    return Value(copy);
}

Value get(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (!runtime.check_key(arguments[0])) return runtime.fail("");
    if (const Value* const found = self.as_dict().find(arguments[0])) return *found;
    return arguments.has(1) ? arguments[1] : Value::none();
}

template <View::Part part>
Value view(Runtime& runtime, const Value& self, Arguments&) {
    return Value(make_object<View>(runtime.heap(), 0, self, part));
}

Value pop_key(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (!runtime.check_key(arguments[0])) return runtime.fail("");
    Dict& dict = self.as_dict();
    const size_t index = dict.index_of(arguments[0]);
    if (index == Dict::kNotFound) {
        return arguments.has(1) ? arguments[1] : runtime.fail(repr(runtime, arguments[0]));
    }
    if (!runtime.spend(dict.entries.size() / 8)) return runtime.fail("");
    Value value = dict.entries[index].value;
    dict.erase(index);
    return value;
}

Value popitem(Runtime& runtime, const Value& self, Arguments&) {
    Dict& dict = self.as_dict();
    if (dict.entries.empty()) return runtime.fail("popitem(): dictionary is empty");
    if (!runtime.spend(dict.entries.size() / 8)) return runtime.fail("");
    const Dict::Entry& entry = dict.entries.back();
    Value pair = runtime.tuple({entry.key, entry.value});
    dict.erase(dict.entries.size() - 1);
    return pair;
}

Value setdefault(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (!runtime.check_key(arguments[0])) return runtime.fail("");
    if (const Value* const found = self.as_dict().find(arguments[0])) return *found;
    Value value = arguments.has(1) ? arguments[1] : Value::none();
    self.as_dict().set(arguments[0], value);
    return value;
}

Value update(Runtime& runtime, const Value& self, Arguments& arguments) {
    return update_dict(runtime, self.as_dict(), arguments) ? Value::none() : runtime.fail("");
}

constexpr Builtin kDictMethods[] = {
    {"clear", "", clear_dict},
    {"copy", "", copy_dict},
    {"get", "key default?", get},
    {"items", "", view<View::Part::items>},
    {"keys", "", view<View::Part::keys>},
    {"pop", "key default?", pop_key},
    {"popitem", "", popitem},
    {"setdefault", "key default?", setdefault},
    {"update", "*", update},
    {"values", "", view<View::Part::values>},
};

// ---- loop, cycler, float ----

Value changed(Runtime& runtime, const Value& self, Arguments& arguments) {
    auto& loop = self.as<LoopState>();
    const Value values = runtime.tuple(std::move(arguments.positional));
    if (!loop.last_changed.is_missing() && runtime.equal(loop.last_changed, values)) {
        return Value::boolean(false);
    }
    loop.last_changed = values;
    return Value::boolean(true);
}

Value cycle(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (arguments.size() == 0) return runtime.fail("no items for cycling given");
    const auto index = static_cast<size_t>(self.as<LoopState>().index0);
    return arguments[index % arguments.size()];
}

Value next_of_cycle(Runtime&, const Value& self, Arguments&) {
    auto& cycler = self.as<Cycler>();
    const size_t position = cycler.position;
    cycler.position = (position + 1) % cycler.items.size();
    return cycler.items[position];
}

Value reset_cycle(Runtime&, const Value& self, Arguments&) {
    self.as<Cycler>().position = 0;
    return Value::none();
}

Value is_whole(Runtime&, const Value& self, Arguments&) {
    const double number = self.as_double();
    return Value::boolean(std::isfinite(number) && number == std::floor(number));
}

constexpr Builtin kLoopMethods[] = {{"changed", "*", changed}, {"cycle", "*", cycle}};
constexpr Builtin kCyclerMethods[] = {{"next", "", next_of_cycle}, {"reset", "", reset_cycle}};
constexpr Builtin kFloatMethods[] = {{"is_integer", "", is_whole}};

}  // namespace

bool update_dict(Runtime& runtime, Dict& dict, Arguments& arguments) {
    if (arguments.size() > 1) {
        runtime.fail(fmt::format("expected at most 1 argument, got {}", arguments.size()));
        return false;
    }
    if (arguments.size() == 1 && arguments[0].is(Kind::dict)) {
        const auto entries = arguments[0].as_dict().entries;  // a copy: it may be the same dict
        for (const Dict::Entry& entry : entries) {
            if (!runtime.spend()) return false;
            dict.set(entry.key, entry.value);
        }
    } else if (arguments.size() == 1) {
        std::vector<Value> pairs;
        if (!collect(runtime, arguments[0], pairs)) return false;
        for (const Value& pair : pairs) {
            std::vector<Value> both;
            if (!collect(runtime, pair, both)) return false;
            if (both.size() != 2) {
                runtime.fail("dictionary update sequence element has not length 2");
                return false;
            }
            if (!runtime.set_item(dict, both[0], both[1])) return false;
        }
    }
    for (auto& [name, value] : arguments.named) {
        dict.set(runtime.string(name), std::move(value));
    }
    return !runtime.failed();
}

const Builtin* find_method(const Value& self, std::string_view name) {
    switch (self.kind()) {
        case Kind::string:
            return find_builtin(string_methods(), name);
        case Kind::list:
            return find_builtin(kListMethods, name);
        case Kind::tuple:
            return find_builtin(kTupleMethods, name);
        case Kind::dict:
            return find_builtin(kDictMethods, name);
        case Kind::loop:
            return find_builtin(kLoopMethods, name);
        case Kind::cycler:
            return find_builtin(kCyclerMethods, name);
        case Kind::floating:
            return find_builtin(kFloatMethods, name);
        default:
            return nullptr;
    }
}

}  // namespace hokku::jinja
