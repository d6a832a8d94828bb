// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/byte_reader.h"
#include "base/try.h"
#include "base/utf8.h"
#include "gguf/gguf_file.h"
#include "gguf/gguf_limits.h"
#include "gguf/gguf_reader.h"

namespace hokku {

namespace {

std::string at_key(const GgufMetadata& metadata, std::string_view key) {
    return fmt::format("{}, key {}", metadata.file_name(), to_printable(key));
}

std::string type_text(const GgufEntry& entry) {
    if (const auto* numbers = std::get_if<GgufNumberArray>(&entry.value))
        return fmt::format("ARRAY of {}", gguf_type_name(numbers->element_type));
    if (std::holds_alternative<GgufStringArray>(entry.value)) return "ARRAY of STRING";
    return std::string(gguf_type_name(entry.type));
}

Error wrong_type(const GgufMetadata& metadata, const GgufEntry& entry, std::string expected) {
    return Error{ErrorCode::bad_format, fmt::format("the value has the type {}", type_text(entry)),
                 at_key(metadata, entry.key), std::move(expected)};
}

Error absent(const GgufMetadata& metadata, std::string_view key, std::string expected) {
    return Error{ErrorCode::bad_format, "the key is missing", at_key(metadata, key),
                 std::move(expected)};
}

/// An integer of the file, wide enough for each of its types.
struct Integer {
    bool is_negative = false;
    uint64_t bits = 0;  ///< As int64_t when negative.
};

template <class T>
Integer to_integer(T number) {
    if constexpr (std::is_floating_point_v<T>)
        return {};  // callers have rejected floats
    else if constexpr (std::is_signed_v<T>)
        return {number < 0, static_cast<uint64_t>(static_cast<int64_t>(number))};
    else
        return {false, number};
}

std::string integer_text(Integer number) {
    return number.is_negative ? std::to_string(static_cast<int64_t>(number.bits))
                              : std::to_string(number.bits);
}

/// Calls visit(number) for each element, in its own type; visit returns false to stop.
template <class Visit>
bool visit_numbers(const GgufNumberArray& array, Visit&& visit) {
    const auto walk = [&]<class T>(T /*type*/) {
        const std::byte* at = array.bytes.data();
        for (size_t i = 0; i < array.count; ++i, at += sizeof(T))
            if (!visit(i, ByteReader::load_le<T>(at))) return false;
        return true;
    };
    switch (array.element_type) {
        case GgufValueType::u8:
        case GgufValueType::boolean:
            return walk(uint8_t{});
        case GgufValueType::i8:
            return walk(int8_t{});
        case GgufValueType::u16:
            return walk(uint16_t{});
        case GgufValueType::i16:
            return walk(int16_t{});
        case GgufValueType::u32:
            return walk(uint32_t{});
        case GgufValueType::i32:
            return walk(int32_t{});
        case GgufValueType::u64:
            return walk(uint64_t{});
        case GgufValueType::i64:
            return walk(int64_t{});
        case GgufValueType::f32:
            return walk(float{});
        case GgufValueType::f64:
            return walk(double{});
        case GgufValueType::string:
        case GgufValueType::array:
            break;
    }
    return false;
}

/// Copies are bounded: elements of one byte would grow to eight times the file's share.
Result<void> check_copy_size(const GgufMetadata& metadata, std::string_view key, size_t count) {
    if (count <= gguf_limits::kMaxCopiedElements) return {};
    return Error{ErrorCode::limit_exceeded, fmt::format("the array has {} elements", count),
                 at_key(metadata, key),
                 fmt::format("at most {} elements", gguf_limits::kMaxCopiedElements)};
}

bool is_float(GgufValueType type) {
    return type == GgufValueType::f32 || type == GgufValueType::f64;
}

}  // namespace

const GgufEntry* GgufMetadata::find(std::string_view key) const {
    const auto at =
        std::lower_bound(by_key_.begin(), by_key_.end(), key,
                         [this](uint32_t i, std::string_view k) { return entries_[i].key < k; });
    if (at == by_key_.end() || entries_[*at].key != key) return nullptr;
    return &entries_[*at];
}

Result<std::optional<uint64_t>> GgufMetadata::find_uint(std::string_view key, uint64_t min,
                                                        uint64_t max) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<uint64_t>{};
    const std::string expected = fmt::format("an integer from {} to {}", min, max);
    Integer number;
    if (const auto* unsigned_value = std::get_if<uint64_t>(&entry->value))
        number = to_integer(*unsigned_value);
    else if (const auto* signed_value = std::get_if<int64_t>(&entry->value))
        number = to_integer(*signed_value);
    else
        return wrong_type(*this, *entry, expected);
    if (number.is_negative || number.bits < min || number.bits > max)
        return Error{ErrorCode::bad_format, fmt::format("the value is {}", integer_text(number)),
                     at_key(*this, key), expected};
    return std::optional<uint64_t>(number.bits);
}

Result<std::optional<double>> GgufMetadata::find_float(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<double>{};
    const auto* value = std::get_if<double>(&entry->value);
    if (value == nullptr) return wrong_type(*this, *entry, "FLOAT32 or FLOAT64");
    if (!std::isfinite(*value))
        return Error{ErrorCode::bad_format, fmt::format("the value is {}", *value),
                     at_key(*this, key), "a finite number"};
    return std::optional<double>(*value);
}

Result<std::optional<bool>> GgufMetadata::find_bool(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<bool>{};
    const auto* value = std::get_if<bool>(&entry->value);
    if (value == nullptr) return wrong_type(*this, *entry, "BOOL");
    return std::optional<bool>(*value);
}

Result<std::optional<std::string_view>> GgufMetadata::find_string(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<std::string_view>{};
    const auto* value = std::get_if<std::string_view>(&entry->value);
    if (value == nullptr) return wrong_type(*this, *entry, "STRING");
    return std::optional<std::string_view>(*value);
}

Result<const GgufStringArray*> GgufMetadata::find_strings(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return static_cast<const GgufStringArray*>(nullptr);
    const auto* value = std::get_if<GgufStringArray>(&entry->value);
    if (value == nullptr) return wrong_type(*this, *entry, "ARRAY of STRING");
    return value;
}

Result<std::optional<std::vector<float>>> GgufMetadata::find_floats(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<std::vector<float>>{};
    const auto* array = std::get_if<GgufNumberArray>(&entry->value);
    if (array == nullptr || !is_float(array->element_type))
        return wrong_type(*this, *entry, "ARRAY of FLOAT32 or FLOAT64");
    HOKKU_CHECK(check_copy_size(*this, key, array->count));
    std::vector<float> numbers(array->count);
    visit_numbers(*array, [&](size_t i, auto number) {
        numbers[i] = static_cast<float>(number);
        return true;
    });
    return std::optional(std::move(numbers));
}

Result<std::optional<std::vector<int64_t>>> GgufMetadata::find_ints(std::string_view key,
                                                                    int64_t min,
                                                                    int64_t max) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::optional<std::vector<int64_t>>{};
    const auto* array = std::get_if<GgufNumberArray>(&entry->value);
    if (array == nullptr || is_float(array->element_type))
        return wrong_type(*this, *entry, "ARRAY of integers");
    HOKKU_CHECK(check_copy_size(*this, key, array->count));
    std::vector<int64_t> numbers(array->count);
    Integer found;
    size_t found_at = 0;
    const bool all_fit = visit_numbers(*array, [&](size_t i, auto number) {
        found = to_integer(number);
        found_at = i;
        numbers[i] = static_cast<int64_t>(number);
        const bool fits = found.is_negative || found.bits <= static_cast<uint64_t>(INT64_MAX);
        return fits && numbers[i] >= min && numbers[i] <= max;
    });
    if (!all_fit)
        return Error{ErrorCode::bad_format,
                     fmt::format("element {} is {}", found_at, integer_text(found)),
                     at_key(*this, key), fmt::format("integers from {} to {}", min, max)};
    return std::optional(std::move(numbers));
}

Result<uint64_t> GgufMetadata::require_uint(std::string_view key, uint64_t min,
                                            uint64_t max) const {
    HOKKU_TRY(const std::optional<uint64_t> value, find_uint(key, min, max));
    if (!value) return absent(*this, key, fmt::format("an integer from {} to {}", min, max));
    return *value;
}

Result<double> GgufMetadata::require_float(std::string_view key) const {
    HOKKU_TRY(const std::optional<double> value, find_float(key));
    if (!value) return absent(*this, key, "a FLOAT32");
    return *value;
}

Result<std::string_view> GgufMetadata::require_string(std::string_view key) const {
    HOKKU_TRY(const std::optional<std::string_view> value, find_string(key));
    if (!value) return absent(*this, key, "a STRING");
    return *value;
}

}  // namespace hokku
