// SPDX-License-Identifier: Apache-2.0
// Filters whose result is a generator in Jinja: nothing happens, and nothing fails, before it is
// iterated, and it can be iterated once.
#include <fmt/format.h>

#include "text/template/access.h"
#include "text/template/compare.h"
#include "text/template/filters.h"
#include "text/template/iterator.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

// Base of all: walks over the filtered value.
struct SourceIterator : Iterator {
    explicit SourceIterator(Value of) : source(std::move(of)) {}
    void clear() override {
        source = Value();
        cursor.close();
    }

    bool next(Runtime& runtime, Value& item) override {
        if (is_done) return false;
        if (!is_started) {
            is_started = true;
            is_done = !start(runtime);
            if (is_done) return false;
        }
        is_done = !produce(runtime, item);
        return !is_done;
    }

    /// Runs once before the first item; false if there are none.
    virtual bool start(Runtime& runtime) { return cursor.open(runtime, source); }
    virtual bool produce(Runtime& runtime, Value& item) = 0;

    Value source;
    Cursor cursor;
    bool is_started = false, is_done = false;
};

struct ItemsIterator : SourceIterator {
    using SourceIterator::SourceIterator;
    bool start(Runtime& runtime) override {
        if (source.is_undefined()) return false;
        if (source.is(Kind::dict)) return true;
        runtime.fail("Can only get item pairs from a mapping.");
        return false;
    }
    bool produce(Runtime& runtime, Value& item) override {
        const auto& entries = source.as_dict().entries;
        if (index >= entries.size() || !runtime.spend()) return false;
        item = runtime.tuple({entries[index].key, entries[index].value});
        ++index;
        return true;
    }
    size_t index = 0;
};

// map(attribute=..., default=...) or map("filter", arguments...).
struct MapIterator : SourceIterator {
    MapIterator(Value of, Arguments given)
        : SourceIterator(std::move(of)), rest(std::move(given)) {}
    void clear() override {
        SourceIterator::clear();
        rest = Arguments();
        attribute = fallback = Value();
    }
    bool start(Runtime& runtime) override {
        if (!is_truthy(source)) return false;
        return prepare(runtime) && cursor.open(runtime, source);
    }

    bool prepare(Runtime& runtime) {
        if (!rest.positional.empty()) {
            if (rest[0].is_string()) filter_name = rest[0].as_string().text.bytes;
            rest.positional.erase(rest.positional.begin());
            return true;
        }
        for (auto& [name, value] : rest.named) {
            if (name == "attribute") attribute = value;
            if (name == "default" && !value.is_none()) fallback = value;
            if (name != "attribute" && name != "default") {
                runtime.fail(fmt::format("Unexpected keyword argument '{}'", name));
            }
        }
        if (attribute.is_missing()) runtime.fail("map requires a filter argument");
        by_attribute = true;
        return !runtime.failed();
    }

    bool produce(Runtime& runtime, Value& item) override {
        Value input;
        if (!cursor.next(runtime, input) || !runtime.spend(rest.size())) return false;
        if (by_attribute) {
            item = get_path(runtime, input, attribute);
            if (item.is_undefined() && !fallback.is_missing()) item = fallback;
        } else {
            Arguments arguments = rest;
            item = call_filter(runtime, filter_name, input, arguments);
        }
        return !runtime.failed();
    }

    Arguments rest;
    std::string filter_name;
    Value attribute, fallback;
    bool by_attribute = false;
};

// select, reject, selectattr, rejectattr.
struct SelectIterator : SourceIterator {
    SelectIterator(Value of, Arguments given, bool attribute, bool wanted)
        : SourceIterator(std::move(of)),
          rest(std::move(given)),
          by_attribute(attribute),
          keeps(wanted) {}
    void clear() override {
        SourceIterator::clear();
        rest = Arguments();
        path = Value();
    }
    bool start(Runtime& runtime) override {
        if (!is_truthy(source)) return false;
        if (by_attribute) {
            if (rest.positional.empty()) {
                runtime.fail("Missing parameter for attribute name");
                return false;
            }
            path = rest[0];
            rest.positional.erase(rest.positional.begin());
        }
        if (!rest.positional.empty()) {
            has_test = true;
            if (rest[0].is_string()) test_name = rest[0].as_string().text.bytes;
            rest.positional.erase(rest.positional.begin());
        }
        return cursor.open(runtime, source);
    }

    bool produce(Runtime& runtime, Value& item) override {
        while (cursor.next(runtime, item) && runtime.spend(rest.size())) {
            Value tested = by_attribute ? get_path(runtime, item, path) : item;
            if (has_test) {
                Arguments arguments = rest;
                tested = call_test(runtime, test_name, tested, arguments);
            }
            if (runtime.failed()) return false;
            if (is_truthy(tested) == keeps) return true;
        }
        return false;
    }

    Arguments rest;
    std::string test_name;
    Value path;
    const bool by_attribute, keeps;
    bool has_test = false;
};

struct UniqueIterator : SourceIterator {
    UniqueIterator(Value of, bool exact, Value by, Ref<Dict> keys)
        : SourceIterator(std::move(of)),
          case_sensitive(exact),
          attribute(std::move(by)),
          seen(std::move(keys)) {}
    void clear() override {
        SourceIterator::clear();
        attribute = Value();
        seen = Ref<Dict>();
    }
    bool produce(Runtime& runtime, Value& item) override {
        while (cursor.next(runtime, item)) {
            Value key = get_path(runtime, item, attribute);
            if (!case_sensitive && key.is_string()) {
                key = runtime.string(change_case(key.as_string().text, Case::lower));
            }
            if (!runtime.check_key(key)) return false;
            if (seen->find(key) != nullptr) continue;
            return runtime.set_item(*seen, key, Value::none());
        }
        return false;
    }
    const bool case_sensitive;
    Value attribute;
    Ref<Dict> seen;
};

struct BatchIterator : SourceIterator {
    BatchIterator(Value of, int64_t count, Value filler)
        : SourceIterator(std::move(of)), size(count), fill(std::move(filler)) {}
    void clear() override {
        SourceIterator::clear();
        fill = Value();
    }
    bool produce(Runtime& runtime, Value& item) override {
        std::vector<Value> batch;
        Value next_item;
        while ((batch.empty() || static_cast<int64_t>(batch.size()) != size) &&
               cursor.next(runtime, next_item)) {
            batch.push_back(std::move(next_item));
        }
        if (batch.empty() || runtime.failed()) return false;
        if (!fill.is_missing() && !fill.is_none()) {
            while (static_cast<int64_t>(batch.size()) < size && runtime.spend() &&
                   runtime.reserve(batch.size() * sizeof(Value))) {
                batch.push_back(fill);
            }
        }
        item = runtime.list(std::move(batch));
        return !runtime.failed();
    }
    const int64_t size;
    Value fill;
};

struct SliceIterator : SourceIterator {
    SliceIterator(Value of, int64_t count, Value filler)
        : SourceIterator(std::move(of)), num_slices(count), fill(std::move(filler)) {}
    void clear() override {
        SourceIterator::clear();
        fill = Value();
        std::vector<Value>().swap(items);
    }
    bool start(Runtime& runtime) override {
        if (num_slices == 0) runtime.fail("integer division or modulo by zero");
        return !runtime.failed() && collect(runtime, source, items);
    }
    bool produce(Runtime& runtime, Value& item) override {
        if (number >= num_slices || !runtime.spend()) return false;
        const auto length = static_cast<int64_t>(items.size());
        const int64_t per_slice = length / num_slices, with_extra = length % num_slices;
        const int64_t begin = offset + number * per_slice;
        if (number < with_extra) ++offset;
        const int64_t end = offset + (number + 1) * per_slice;
        std::vector<Value> slice(items.begin() + begin, items.begin() + end);
        if (!fill.is_missing() && !fill.is_none() && number >= with_extra) slice.push_back(fill);
        ++number;
        item = runtime.list(std::move(slice));
        return true;
    }
    const int64_t num_slices;
    Value fill;
    std::vector<Value> items;
    int64_t number = 0, offset = 0;
};

Value items_filter(Runtime& runtime, const Value& self, Arguments&) {
    return Value(make_object<ItemsIterator>(runtime.heap(), 0, self));
}

Value map(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value(make_object<MapIterator>(runtime.heap(), 0, self, std::move(arguments)));
}

template <bool by_attribute, bool keeps>
Value select(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value(make_object<SelectIterator>(runtime.heap(), 0, self, std::move(arguments),
                                             by_attribute, keeps));
}

Value unique(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value(
        make_object<UniqueIterator>(runtime.heap(), 0, self, truth_argument(arguments, 0, false),
                                    arguments.has(1) ? arguments[1] : Value(), runtime.dict()));
}

template <class T>
Value chunk(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value(make_object<T>(runtime.heap(), 0, self, integer_argument(runtime, arguments[0]),
                                arguments.has(1) ? arguments[1] : Value()));
}

}  // namespace

std::span<const Builtin> lazy_filters() {
    static constexpr Builtin kTable[] = {
        {"batch", "linecount fill_with?", chunk<BatchIterator>},
        {"items", "", items_filter},
        {"map", "*", map},
        {"reject", "*", select<false, false>},
        {"rejectattr", "*", select<true, false>},
        {"select", "*", select<false, true>},
        {"selectattr", "*", select<true, true>},
        {"slice", "slices fill_with?", chunk<SliceIterator>},
        {"unique", "case_sensitive? attribute?", unique},
    };
    return kTable;
}

const Builtin* find_filter(std::string_view name) {
    for (const auto table :
         {text_filters(), sequence_filters(), lazy_filters(), number_filters()}) {
        if (const Builtin* const found = find_builtin(table, name)) return found;
    }
    return nullptr;
}

}  // namespace hokku::jinja
