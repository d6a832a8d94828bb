// SPDX-License-Identifier: Apache-2.0
#include "plugin/kv_memory.h"

#include <algorithm>
#include <cstring>

#include "backend/backend.h"
#include "backend/half.h"
#include "base/try.h"

namespace hokku::cuda {

namespace {

size_t element_bytes(KvType type) {
    return type == KvType::f32 ? 4 : 2;
}

/// Elements from one position's values to the next one's in a file: docs/formats.md.
size_t file_value_row(KvType type, size_t value_dim) {
    return type == KvType::f32 ? value_dim : (value_dim + 15) / 16 * 16;
}

}  // namespace

uint64_t KvMemory::block_bytes(const ModelSpec& spec, KvType type) {
    uint64_t bytes = 0;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = *layer.attention();
        bytes += uint64_t{attention.num_kv_heads} * kKvPositions *
                 (attention.key_dim + attention.value_dim) * element_bytes(type);
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
            const size_t rows = size_t{layer.num_heads} * kKvPositions * element_bytes(type);
            layer.key_bytes = rows * layer.key_dim;
            layer.value_bytes = rows * layer.value_dim;
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
            .format = type_ == KvType::f32 ? kKvF32 : kKvF16};
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
    for (const Layer& layer : layers_) {
        bytes += layer.key_bytes + uint64_t{layer.num_heads} * kKvPositions *
                                       file_value_row(type_, layer.value_dim) *
                                       element_bytes(type_);
    }
    return bytes;
}

// On the device a head's keys are [64][key_dim], in a file [key_dim][64]; values are [64] rows in
// both, which a file pads.

Result<void> KvMemory::read_block(const Gpu& gpu, uint32_t block, uint32_t num_tokens,
                                  std::span<std::byte> out) const {
    HOKKU_CHECK(gpu.synchronize());
    std::fill(out.begin(), out.end(), std::byte{0});
    const size_t element = element_bytes(type_);
    std::vector<std::byte> staging;
    std::byte* to = out.data();
    const auto fetch = [&](DevicePointer base, size_t bytes) {
        staging.resize(bytes);
        return gpu.check(gpu.api().copy_to_host(staging.data(), base + block * bytes, bytes),
                         "cuMemcpyDtoH_v2");
    };
    for (const Layer& layer : layers_) {
        HOKKU_CHECK(fetch(layer.keys, layer.key_bytes));
        for (size_t head = 0; head < layer.num_heads; ++head) {
            const std::byte* from = staging.data() + head * kKvPositions * layer.key_dim * element;
            for (size_t p = 0; p < num_tokens; ++p) {
                for (size_t d = 0; d < layer.key_dim; ++d) {
                    std::memcpy(to + (d * kKvPositions + p) * element,
                                from + (p * layer.key_dim + d) * element, element);
                }
            }
            to += kKvPositions * layer.key_dim * element;
        }
        HOKKU_CHECK(fetch(layer.values, layer.value_bytes));
        const size_t row = file_value_row(type_, layer.value_dim) * element;
        const size_t used = layer.value_dim * element;
        for (size_t head = 0; head < layer.num_heads; ++head) {
            for (size_t p = 0; p < num_tokens; ++p) {
                std::memcpy(to + p * row, staging.data() + (head * kKvPositions + p) * used, used);
            }
            to += kKvPositions * row;
        }
    }
    return {};
}

Result<void> KvMemory::write_block(const Gpu& gpu, uint32_t block,
                                   std::span<const std::byte> bytes) {
    HOKKU_CHECK(gpu.synchronize());
    const size_t element = element_bytes(type_);
    std::vector<std::byte> staging;
    const std::byte* from = bytes.data();
    const auto store = [&](DevicePointer base) {
        return gpu.check(
            gpu.api().copy_to_device(base + block * staging.size(), staging.data(), staging.size()),
            "cuMemcpyHtoD_v2");
    };
    for (const Layer& layer : layers_) {
        staging.resize(layer.key_bytes);
        for (size_t head = 0; head < layer.num_heads; ++head) {
            std::byte* to = staging.data() + head * kKvPositions * layer.key_dim * element;
            for (size_t d = 0; d < layer.key_dim; ++d) {
                for (size_t p = 0; p < kKvPositions; ++p) {
                    std::memcpy(to + (p * layer.key_dim + d) * element,
                                from + (d * kKvPositions + p) * element, element);
                }
            }
            from += kKvPositions * layer.key_dim * element;
        }
        HOKKU_CHECK(store(layer.keys));
        staging.resize(layer.value_bytes);
        const size_t row = file_value_row(type_, layer.value_dim) * element;
        const size_t used = layer.value_dim * element;
        for (size_t i = 0; i < size_t{layer.num_heads} * kKvPositions; ++i) {
            std::memcpy(staging.data() + i * used, from + i * row, used);
        }
        from += size_t{layer.num_heads} * kKvPositions * row;
        HOKKU_CHECK(store(layer.values));
    }
    return {};
}

Result<std::vector<float>> KvMemory::read_key(const Gpu& gpu, uint32_t layer, uint32_t block,
                                              uint32_t slot) const {
    const Layer& part = layers_[layer];
    std::vector<std::byte> staging(part.key_bytes);
    HOKKU_CHECK(gpu.check(
        gpu.api().copy_to_host(staging.data(), part.keys + block * part.key_bytes, staging.size()),
        "cuMemcpyDtoH_v2"));
    std::vector<float> out;
    for (size_t head = 0; head < part.num_heads; ++head) {
        for (size_t d = 0; d < part.key_dim; ++d) {
            const size_t at = (head * kKvPositions + slot) * part.key_dim + d;
            float value = 0;
            if (type_ == KvType::f32) {
                std::memcpy(&value, staging.data() + at * 4, 4);
            } else {
                uint16_t bits = 0;
                std::memcpy(&bits, staging.data() + at * 2, 2);
                value = half_to_float(bits);
            }
            out.push_back(value);
        }
    }
    return out;
}

}  // namespace hokku::cuda
