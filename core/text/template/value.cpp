// SPDX-License-Identifier: Apache-2.0
#include "text/template/value.h"

#include "text/template/compare.h"
#include "text/template/iterator.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

constexpr size_t kFewEntries = 12;  // below this a scan beats a hash table

int64_t count_steps(int64_t start, int64_t stop, int64_t step) {
    if (step == 0 || (step > 0 ? start >= stop : start <= stop)) return 0;
    const auto distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                   : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const uint64_t count = (distance - 1) / width + 1;
    return count > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(count);
}

}  // namespace

String::String(Text value)
    : Object(Kind::string), text(std::move(value)), num_chars(count_chars(text.bytes)) {}

void List::push(Value value) {
    items.push_back(std::move(value));
    if (heap != nullptr) heap->charge(this, sizeof(Value));
}

void Dict::clear() {
    std::vector<Entry>().swap(entries);
    std::vector<uint32_t>().swap(slots_);
}

const Value* Dict::find(std::string_view key) const {
    if (slots_.empty()) {
        for (const Entry& entry : entries) {
            if (entry.key.is_string() && entry.key.as_string().view() == key) return &entry.value;
        }
        return nullptr;
    }
    const size_t hash = hash_text(key);
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
        const Entry& entry = entries[slots_[slot] - 1];
        if (entry.hash == hash && entry.key.is_string() && entry.key.as_string().view() == key) {
            return &entry.value;
        }
    }
    return nullptr;
}

size_t Dict::locate(size_t hash, const Value& key) const {
    if (slots_.empty()) {
        for (size_t i = 0; i < entries.size(); ++i) {
            if (entries[i].hash == hash && equals(entries[i].key, key)) return i;
        }
        return kNotFound;
    }
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
        const size_t index = slots_[slot] - 1;
        if (entries[index].hash == hash && equals(entries[index].key, key)) return index;
    }
    return kNotFound;
}

size_t Dict::index_of(const Value& key) const {
    return locate(hash_value(key), key);
}

const Value* Dict::find(const Value& key) const {
    if (key.is_string()) return find(key.as_string().view());
    const size_t index = index_of(key);
    return index == kNotFound ? nullptr : &entries[index].value;
}

void Dict::rebuild_slots() {
    slots_.clear();
    if (entries.size() <= kFewEntries) return;
    size_t size = 64;
    while (size < entries.size() * 3) size *= 2;
    slots_.assign(size, 0);
    for (size_t i = 0; i < entries.size(); ++i) {
        size_t slot = entries[i].hash & (size - 1);
        while (slots_[slot] != 0) slot = (slot + 1) & (size - 1);
        slots_[slot] = static_cast<uint32_t>(i + 1);
    }
}

void Dict::set(Value key, Value value) {
    const size_t hash = hash_value(key);
    const size_t found = locate(hash, key);
    if (found != kNotFound) {
        entries[found].value = std::move(value);
        return;
    }
    entries.push_back({std::move(key), std::move(value), hash});
    if (heap != nullptr) heap->charge(this, sizeof(Entry) + 3 * sizeof(uint32_t));
    if (slots_.empty() || entries.size() * 2 > slots_.size()) {
        if (entries.size() > kFewEntries) rebuild_slots();
        return;
    }
    const size_t mask = slots_.size() - 1;
    size_t slot = hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(entries.size());
}

void Dict::erase(size_t index) {
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(index));
    rebuild_slots();
}

Range::Range(int64_t first, int64_t end, int64_t by)
    : Object(Kind::range), start(first), stop(end), step(by), count(count_steps(first, end, by)) {}

const char* type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::missing:
            return "missing";
        case Kind::none:
            return "NoneType";
        case Kind::boolean:
            return "bool";
        case Kind::integer:
            return "int";
        case Kind::big_integer:
            return "int";
        case Kind::floating:
            return "float";
        case Kind::function:
            return "builtin_function_or_method";
        case Kind::undefined:
            return "Undefined";
        case Kind::string:
            return "str";
        case Kind::list:
            return "list";
        case Kind::tuple:
            return "tuple";
        case Kind::dict:
            return "dict";
        case Kind::view:
            switch (value.as<View>().part) {
                case View::Part::keys:
                    return "dict_keys";
                case View::Part::values:
                    return "dict_values";
                case View::Part::items:
                    return "dict_items";
            }
            return "dict_items";
        case Kind::range:
            return "range";
        case Kind::iterator:
            return value.as<Iterator>().type;
        case Kind::name_space:
            return "Namespace";
        case Kind::macro:
            return "Macro";
        case Kind::method:
            return "builtin_function_or_method";
        case Kind::loop:
            return "LoopContext";
        case Kind::cycler:
            return "Cycler";
        case Kind::joiner:
            return "Joiner";
        case Kind::scope:
            return "scope";
    }
    return "object";
}

bool is_truthy(const Value& value) {
    switch (value.kind()) {
        case Kind::missing:
        case Kind::none:
        case Kind::undefined:
            return false;
        case Kind::boolean:
        case Kind::integer:
            return value.as_integer() != 0;
        case Kind::floating:
            return value.as_double() != 0.0;
        case Kind::string:
            return value.as_string().text.size() != 0;
        case Kind::list:
        case Kind::tuple:
            return !value.as_list().items.empty();
        case Kind::dict:
            return !value.as_dict().entries.empty();
        case Kind::view:
            return !value.as<View>().dict.as_dict().entries.empty();
        case Kind::range:
            return value.as<Range>().count != 0;
        default:
            return true;
    }
}

}  // namespace hokku::jinja
