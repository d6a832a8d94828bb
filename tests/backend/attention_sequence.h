// SPDX-License-Identifier: Apache-2.0
// A sequence with its history, as plain numbers and as pages whose blocks lie in no order; what the
// pages hold is read after docs/formats.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/attention.h"
#include "backend/cpu/kv_layout.h"
#include "backend/half.h"
#include "support/catch.h"

namespace hokku::testing {

struct Shape {
    uint32_t num_heads, num_kv_heads, key_dim, value_dim;
};

inline constexpr KvType kTypes[] = {KvType::f32, KvType::f16, KvType::q8_0, KvType::q4_0};

/// Plain keys and values for references, and pages.
struct Sequence {
    Sequence(const Shape& shape_, KvType type_, uint32_t num_cached_, uint32_t num_rows_,
             uint32_t seed)
        : shape(shape_), type(type_), num_cached(num_cached_), num_rows(num_rows_) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        const auto fill = [&](std::vector<float>& values, size_t n, float scale) {
            values.resize(n);
            for (float& value : values) value = scale * normal(random);
        };
        const uint32_t total = num_cached + num_rows;
        fill(q, size_t{num_rows} * shape.num_heads * shape.key_dim, 2.0f);
        fill(k, size_t{total} * shape.num_kv_heads * shape.key_dim, 1.0f);
        fill(v, size_t{total} * shape.num_kv_heads * shape.value_dim, 1.0f);
        const uint32_t num_blocks = (total + kKvBlockTokens - 1) / kKvBlockTokens;
        for (uint32_t i = 0; i < num_blocks; ++i) blocks.push_back(2 * (num_blocks - 1 - i) + 1);
        // Stale values of other sequences must have no influence: these bytes are not a number.
        key_pages.assign(size_t{2} * num_blocks * key_stride(), std::byte{0xff});
        value_pages.assign(size_t{2} * num_blocks * value_stride(), std::byte{0xff});
    }
    [[nodiscard]] size_t key_stride() const {
        return shape.num_kv_heads * cpu::kv_key_head_bytes(type, shape.key_dim) + 128;
    }
    [[nodiscard]] size_t value_stride() const {
        return shape.num_kv_heads * cpu::kv_value_head_bytes(type, shape.value_dim) + 64;
    }
    cpu::KvPages pages() {
        return {type,         key_pages.data(), value_pages.data(),
                key_stride(), value_stride(),   blocks.data()};
    }
    /// What the pages hold, in the order of k and v.
    [[nodiscard]] std::vector<float> stored_keys() const {
        std::vector<float> out;
        for_each_head(
            key_pages, key_stride(), cpu::kv_key_head_bytes(type, shape.key_dim),
            [&](const std::byte* head, size_t slot) {
                for (size_t d = 0; d < shape.key_dim; ++d)
                    out.push_back(type == KvType::q4_0
                                      ? read_half(head, (d / 32 * 16 + d % 16) * 64 + slot,
                                                  shape.key_dim, d, slot)
                                      : read(head, d * 64 + slot, shape.key_dim, d, slot));
            });
        return out;
    }
    [[nodiscard]] std::vector<float> stored_values() const {
        const size_t row =
            type == KvType::f32 ? shape.value_dim : (shape.value_dim + 15u) / 16 * 16;
        const size_t groups = (shape.value_dim + 31u) / 32;
        std::vector<float> out;
        for_each_head(
            value_pages, value_stride(), cpu::kv_value_head_bytes(type, shape.value_dim),
            [&](const std::byte* head, size_t slot) {
                for (size_t d = 0; d < shape.value_dim; ++d)
                    out.push_back(type == KvType::q4_0
                                      ? read_half(head, (slot * groups + d / 32) * 16 + d % 16,
                                                  shape.value_dim, d, slot)
                                      : read(head, slot * row + d, row, d, slot));
            });
        return out;
    }

    Shape shape;
    KvType type;
    uint32_t num_cached, num_rows;
    std::vector<float> q, k, v;
    std::vector<std::byte> key_pages, value_pages;
    std::vector<uint32_t> blocks;

  private:
    template <class Function>
    void for_each_head(const std::vector<std::byte>& pages, size_t stride, size_t head_bytes,
                       Function function) const {
        for (size_t p = 0; p < num_cached + num_rows; ++p)
            for (size_t head = 0; head < shape.num_kv_heads; ++head)
                function(pages.data() + blocks[p / 64] * stride + head * head_bytes, p % 64);
    }
    /// Element `index` of a head, after docs/formats.md.
    [[nodiscard]] float read(const std::byte* head, size_t index, size_t row, size_t dim,
                             size_t slot) const {
        if (type == KvType::f32) return load_as<float>(head + 4 * index);
        if (type == KvType::f16) return half_to_float(load_as<uint16_t>(head + 2 * index));
        const auto scale = load_as<uint16_t>(head + row * 64 + (dim / 32 * 64 + slot) * 2);
        return static_cast<float>(load_as<int8_t>(head + index)) * half_to_float(scale);
    }
    /// The same of q4_0, whose bytes have two dimensions each.
    [[nodiscard]] static float read_half(const std::byte* head, size_t byte, size_t num_dims,
                                         size_t dim, size_t slot) {
        const size_t scales = (num_dims + 31) / 32 * 16 * 64;
        const auto scale = load_as<uint16_t>(head + scales + (dim / 32 * 64 + slot) * 2);
        const int codes = std::to_integer<int>(head[byte]);
        const int code = dim % 32 < 16 ? codes % 16 : codes / 16;
        return static_cast<float>(code - 8) * half_to_float(scale);
    }
    template <class T>
    static T load_as(const std::byte* bytes) {
        T value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }
};

/// What is stored is as near to what was appended as its type allows.
inline void check_stored(KvType type, const std::vector<float>& appended,
                         const std::vector<float>& stored, size_t dim) {
    REQUIRE(stored.size() == appended.size());
    size_t num_far = 0;
    for (size_t head = 0; head < stored.size(); head += dim) {
        for (size_t group = 0; group < dim; group += 32) {
            const size_t n = std::min<size_t>(32, dim - group);
            float largest = 0, furthest = 0;
            for (size_t i = 0; i < n; ++i) {
                const float value = appended[head + group + i];
                if (std::abs(value) > largest) furthest = value;
                largest = std::max(largest, std::abs(value));
            }
            for (size_t i = head + group; i < head + group + n; ++i) {
                const double error = std::abs(double{stored[i]} - double{appended[i]});
                double bound = 0;
                // Half a unit in the last of 11 bits, or of the subnormals.
                if (type == KvType::f16)
                    bound = std::max(std::abs(double{appended[i]}) * 0x1p-11, 0x1p-25);
                // Half a scale, which is a half rounded up; 2^-20 for 1 / scale in float32.
                if (type == KvType::q8_0)
                    bound = 0.5 * std::max(largest / 127.0 * (1 + 0x1p-10), 0x1p-24) *
                            (1 + 127 * 0x1p-20);
                // Half a scale, but for what is beyond 7.5 of them on the side that ends at 7; and
                // what the scale loses as a half, up to 8 times.
                if (type == KvType::q4_0) {
                    const double scale = largest / 8.0;
                    const double codes = scale == 0 ? 0 : -8.0 * appended[i] / furthest;
                    bound = (scale * std::max(0.5, codes - 7) +
                             8 * std::max(scale * 0x1p-11, 0x1p-25)) *
                            (1 + 0x1p-20);
                }
                if (!(error <= bound)) ++num_far;
            }
        }
    }
    CHECK(num_far == 0);
}

}  // namespace hokku::testing
