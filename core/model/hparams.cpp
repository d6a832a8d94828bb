// SPDX-License-Identifier: Apache-2.0
#include "model/hparams.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <variant>

namespace hokku {

Hparams::Hparams(const GgufFile& file, std::string_view architecture)
    : file_(file), architecture_(architecture) {}

std::string Hparams::full(std::string_view key) const {
    return fmt::format("{}.{}", architecture_, key);
}

bool Hparams::has(std::string_view key) const {
    return file_.metadata().find(full(key)) != nullptr;
}

void Hparams::fail(Error error) {
    if (!error_) error_ = std::move(error);
}

void Hparams::fail_key(std::string_view key, std::string what, std::string expected) {
    fail({ErrorCode::bad_format, std::move(what),
          fmt::format("{}, key {}", file_.metadata().file_name(), full(key)), std::move(expected)});
}

void Hparams::missing(std::string_view key) {
    fail_key(key, "the key is missing", "a value, which this architecture needs");
}

template <class T>
std::optional<T> Hparams::take(Result<std::optional<T>> found) {
    if (!found.ok()) {
        fail(std::move(found).error());
        return std::nullopt;
    }
    return std::move(found).value();
}

uint32_t Hparams::u32_or(std::string_view key, uint32_t fallback, uint32_t min, uint32_t max) {
    const auto found = take(file_.metadata().find_uint(full(key), min, max));
    return found ? static_cast<uint32_t>(*found) : fallback;
}

uint32_t Hparams::u32(std::string_view key, uint32_t min, uint32_t max) {
    if (!has(key)) missing(key);
    return u32_or(key, min, min, max);
}

float Hparams::f32_or(std::string_view key, float fallback, float min, float max) {
    const auto found = take(file_.metadata().find_float(full(key)));
    if (!found) return fallback;
    const double value = *found;
    if (!(value >= static_cast<double>(min) && value <= static_cast<double>(max))) {
        fail_key(key, fmt::format("the value is {}", value), fmt::format("{} to {}", min, max));
        return fallback;
    }
    return static_cast<float>(value);
}

float Hparams::f32(std::string_view key, float min, float max) {
    if (!has(key)) missing(key);
    return f32_or(key, min, min, max);
}

bool Hparams::flag_or(std::string_view key, bool fallback) {
    return take(file_.metadata().find_bool(full(key))).value_or(fallback);
}

std::string Hparams::text_or(std::string_view key, std::string_view fallback) {
    return std::string(take(file_.metadata().find_string(full(key))).value_or(fallback));
}

std::vector<uint32_t> Hparams::per_layer_or(std::string_view key, uint32_t count, uint32_t fallback,
                                            uint32_t min, uint32_t max) {
    const GgufEntry* entry = file_.metadata().find(full(key));
    if (entry == nullptr || entry->type != GgufValueType::array)
        return std::vector<uint32_t>(count, u32_or(key, fallback, min, max));
    std::vector<uint32_t> values(count, fallback);
    const auto found = take(file_.metadata().find_ints(full(key), min, max));
    if (!found) return values;
    if (found->size() != count) {
        fail_key(key, fmt::format("the array has {} values", found->size()),
                 fmt::format("{}, one for each layer", count));
        return values;
    }
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>((*found)[i]);
    return values;
}

std::vector<uint32_t> Hparams::per_layer(std::string_view key, uint32_t count, uint32_t min,
                                         uint32_t max) {
    if (!has(key)) missing(key);
    return per_layer_or(key, count, min, min, max);
}

std::vector<float> Hparams::floats_of_full_key(const std::string& full_key, size_t count) {
    const std::string where = fmt::format("{}, key {}", file_.metadata().file_name(), full_key);
    std::vector<float> fallback(count, 0.0f);
    auto found = take(file_.metadata().find_floats(full_key));
    if (!found) {
        fail({ErrorCode::bad_format, "the key is missing", where,
              "a value, which this architecture needs"});
        return fallback;
    }
    bool is_finite = found->size() == count;
    for (const float value : *found) is_finite = is_finite && std::isfinite(value);
    if (!is_finite) {
        fail({ErrorCode::bad_format, fmt::format("the array has {} values", found->size()), where,
              fmt::format("{} finite values", count)});
        return fallback;
    }
    return std::move(*found);
}

}  // namespace hokku
