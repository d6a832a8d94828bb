// SPDX-License-Identifier: Apache-2.0
#include "plugin/kv_memory.h"

#include <algorithm>
#include <cstring>

#include "backend/backend.h"
#include "backend/half.h"
#include "base/try.h"

namespace hokku::cuda {

namespace {

uint32_t format_of(KvType type) {
    switch (type) {
        case KvType::f32:
            return kKvF32;
        case KvType::f16:
            return kKvF16;
        default:
            return kKvQ8_0;
    }
}

/// Bytes of a value, or of its code.
size_t element_bytes(KvType type) {
    return type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1;
}

/// Bytes of the scales behind the codes of a head in a block, the same on the device and in a file.
size_t scale_bytes(KvType type, size_t dim) {
    return type == KvType::q8_0 ? (dim + kGroup - 1) / kGroup * kKvPositions * sizeof(uint16_t) : 0;
}

/// Elements from one position's values to the next one's in a file: docs/formats.md.
size_t file_value_row(KvType type, size_t value_dim) {
    return type == KvType::f32 ? value_dim : (value_dim + 15) / 16 * 16;
}

/// copy(offset in a file, offset on the device, bytes) for the scales of a head's first positions.
template <class Copy>
void for_each_scale(size_t in_file, size_t on_device, size_t bytes, size_t num_positions,
                    Copy copy) {
    constexpr size_t kRow = kKvPositions * sizeof(uint16_t);
    for (size_t at = 0; at < bytes; at += kRow)
        copy(in_file + at, on_device + at, num_positions * sizeof(uint16_t));
}

/// The same for a layer's keys in a block.
template <class Copy>
void for_each_key(KvType type, size_t num_heads, size_t dim, size_t num_positions, Copy copy) {
    const size_t element = element_bytes(type), scales = scale_bytes(type, dim);
    const size_t codes = kKvPositions * dim * element;
    for (size_t head = 0; head < num_heads; ++head) {
        const size_t begin = head * (codes + scales);
        for (size_t p = 0; p < num_positions; ++p) {
            for (size_t d = 0; d < dim; ++d)
                copy(begin + (d * kKvPositions + p) * element, begin + (p * dim + d) * element,
                     element);
        }
        for_each_scale(begin + codes, begin + codes, scales, num_positions, copy);
    }
}

/// And for its values.
template <class Copy>
void for_each_value(KvType type, size_t num_heads, size_t dim, size_t num_positions, Copy copy) {
    const size_t element = element_bytes(type), scales = scale_bytes(type, dim);
    const size_t row = file_value_row(type, dim) * element, used = dim * element;
    for (size_t head = 0; head < num_heads; ++head) {
        const size_t in_file = head * (kKvPositions * row + scales);
        const size_t on_device = head * (kKvPositions * used + scales);
        for (size_t p = 0; p < num_positions; ++p)
            copy(in_file + p * row, on_device + p * used, used);
        for_each_scale(in_file + kKvPositions * row, on_device + kKvPositions * used, scales,
                       num_positions, copy);
    }
}

}  // namespace

uint64_t KvMemory::block_bytes(const ModelSpec& spec, KvType type) {
    uint64_t bytes = 0;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = *layer.attention();
        bytes += attention.num_kv_heads * (kv_head_bytes(format_of(type), attention.key_dim) +
                                           kv_head_bytes(format_of(type), attention.value_dim));
    }
    return bytes;
}

Result<KvMemory> KvMemory::create(const Gpu& gpu, const ModelSpec& spec, KvType type,
                                  uint32_t num_blocks) {
    KvMemory kv;
    kv.type_ = type;
    kv.num_blocks_ = num_blocks;
    const auto lay_out = [&](GpuLayout layout) {
        kv.layers_.clear();
        for (const LayerSpec& spec_layer : spec.layers) {
            const AttentionSpec& attention = *spec_layer.attention();
            Layer layer;
            layer.num_heads = attention.num_kv_heads;
            layer.key_dim = attention.key_dim;
            layer.value_dim = attention.value_dim;
            layer.key_bytes = layer.num_heads * kv_head_bytes(format_of(type), layer.key_dim);
            layer.value_bytes = layer.num_heads * kv_head_bytes(format_of(type), layer.value_dim);
            const size_t count = size_t{num_blocks} + 1;
            layer.keys =
                reinterpret_cast<DevicePointer>(layout.take<std::byte>(layer.key_bytes * count));
            layer.values =
                reinterpret_cast<DevicePointer>(layout.take<std::byte>(layer.value_bytes * count));
            kv.layers_.push_back(layer);
        }
        return layout.used_bytes();
    };
    HOKKU_TRY(kv.memory_, gpu.allocate(lay_out(GpuLayout()), "the KV cache"));
    lay_out(GpuLayout(kv.memory_.address()));
    return kv;
}

KvPool KvMemory::pool(uint32_t layer, const uint32_t* tables) const {
    const Layer& part = layers_[layer];
    return {.keys = reinterpret_cast<void*>(part.keys),
            .values = reinterpret_cast<void*>(part.values),
            .tables = tables,
            .max_blocks = num_blocks_,
            .num_kv_heads = part.num_heads,
            .key_dim = part.key_dim,
            .value_dim = part.value_dim,
            .format = format_of(type_)};
}

uint32_t KvMemory::split_positions() const {
    const uint32_t blocks = std::max((num_blocks_ + kMaxSplits - 1) / kMaxSplits, 2u);
    return blocks * kKvPositions;
}

uint32_t KvMemory::num_splits() const {
    const uint32_t blocks = split_positions() / kKvPositions;
    return (num_blocks_ + blocks - 1) / blocks;
}

Result<void> KvMemory::copy_block(const Gpu& gpu, uint32_t from, uint32_t to) {
    const auto copy = [&](DevicePointer base, size_t bytes) {
        return gpu.check(gpu.api().copy_on_device_async(base + to * bytes, base + from * bytes,
                                                        bytes, gpu.stream()),
                         "cuMemcpyDtoDAsync_v2");
    };
    for (const Layer& layer : layers_) {
        HOKKU_CHECK(copy(layer.keys, layer.key_bytes));
        HOKKU_CHECK(copy(layer.values, layer.value_bytes));
    }
    return {};
}

Result<void> KvMemory::take_blocks_of(const Gpu& gpu, const KvMemory& smaller) {
    for (size_t i = 0; i < layers_.size(); ++i) {
        const Layer& from = smaller.layers_[i];
        HOKKU_CHECK(gpu.check(
            gpu.api().copy_on_device_async(layers_[i].keys, from.keys,
                                           from.key_bytes * smaller.num_blocks_, gpu.stream()),
            "cuMemcpyDtoDAsync_v2"));
        HOKKU_CHECK(gpu.check(
            gpu.api().copy_on_device_async(layers_[i].values, from.values,
                                           from.value_bytes * smaller.num_blocks_, gpu.stream()),
            "cuMemcpyDtoDAsync_v2"));
    }
    return gpu.synchronize();
}

uint64_t KvMemory::file_block_bytes() const {
    uint64_t bytes = 0;
    for (const Layer& layer : layers_) bytes += layer.key_bytes + file_value_bytes(layer);
    return bytes;
}

// ---- blocks in a file --------------------------------------------------------------------------
//
// On the device a head's keys are [64][key_dim], in a file [key_dim][64]; values are [64] rows in
// both, which a file pads. Scales of q8_0 are the same.

size_t KvMemory::file_value_bytes(const Layer& layer) const {
    return layer.num_heads *
           (kKvPositions * file_value_row(type_, layer.value_dim) * element_bytes(type_) +
            scale_bytes(type_, layer.value_dim));
}

Result<void> KvMemory::read_block(const Gpu& gpu, uint32_t block, uint32_t num_tokens,
                                  std::span<std::byte> out) const {
    HOKKU_CHECK(gpu.synchronize());
    std::fill(out.begin(), out.end(), std::byte{0});
    std::vector<std::byte> staging;
    std::byte* to = out.data();
    const auto fetch = [&](DevicePointer base, size_t bytes) {
        staging.resize(bytes);
        return gpu.check(gpu.api().copy_to_host(staging.data(), base + block * bytes, bytes),
                         "cuMemcpyDtoH_v2");
    };
    const auto copy = [&](size_t in_file, size_t on_device, size_t bytes) {
        std::memcpy(to + in_file, staging.data() + on_device, bytes);
    };
    for (const Layer& layer : layers_) {
        HOKKU_CHECK(fetch(layer.keys, layer.key_bytes));
        for_each_key(type_, layer.num_heads, layer.key_dim, num_tokens, copy);
        to += layer.key_bytes;
        HOKKU_CHECK(fetch(layer.values, layer.value_bytes));
        for_each_value(type_, layer.num_heads, layer.value_dim, num_tokens, copy);
        to += file_value_bytes(layer);
    }
    return {};
}

Result<void> KvMemory::write_block(const Gpu& gpu, uint32_t block,
                                   std::span<const std::byte> bytes) {
    HOKKU_CHECK(gpu.synchronize());
    std::vector<std::byte> staging;
    const std::byte* from = bytes.data();
    const auto store = [&](DevicePointer base) {
        return gpu.check(
            gpu.api().copy_to_device(base + block * staging.size(), staging.data(), staging.size()),
            "cuMemcpyHtoD_v2");
    };
    const auto copy = [&](size_t in_file, size_t on_device, size_t size) {
        std::memcpy(staging.data() + on_device, from + in_file, size);
    };
    for (const Layer& layer : layers_) {
        staging.resize(layer.key_bytes);
        for_each_key(type_, layer.num_heads, layer.key_dim, kKvPositions, copy);
        from += layer.key_bytes;
        HOKKU_CHECK(store(layer.keys));
        staging.resize(layer.value_bytes);
        for_each_value(type_, layer.num_heads, layer.value_dim, kKvPositions, copy);
        from += file_value_bytes(layer);
        HOKKU_CHECK(store(layer.values));
    }
    return gpu.finish_copies();
}

Result<std::vector<float>> KvMemory::read_key(const Gpu& gpu, uint32_t layer, uint32_t block,
                                              uint32_t slot) const {
    const Layer& part = layers_[layer];
    std::vector<std::byte> staging(part.key_bytes);
    HOKKU_CHECK(gpu.check(
        gpu.api().copy_to_host(staging.data(), part.keys + block * part.key_bytes, staging.size()),
        "cuMemcpyDtoH_v2"));
    const size_t codes = kKvPositions * part.key_dim * element_bytes(type_);
    const auto half_at = [](const std::byte* from) {
        uint16_t bits = 0;
        std::memcpy(&bits, from, sizeof bits);
        return half_to_float(bits);
    };
    std::vector<float> out;
    for (size_t head = 0; head < part.num_heads; ++head) {
        const std::byte* from = staging.data() + head * part.key_bytes / part.num_heads;
        for (size_t d = 0; d < part.key_dim; ++d) {
            const size_t at = slot * part.key_dim + d;
            float value = 0;
            if (type_ == KvType::f32) {
                std::memcpy(&value, from + at * 4, 4);
            } else if (type_ == KvType::f16) {
                value = half_at(from + at * 2);
            } else {
                value = half_at(from + codes + (d / kGroup * kKvPositions + slot) * 2) *
                        static_cast<float>(static_cast<int8_t>(from[at]));
            }
            out.push_back(value);
        }
    }
    return out;
}

}  // namespace hokku::cuda
