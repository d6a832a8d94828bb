// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kv_pool.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "backend/backend.h"

namespace hokku::cpu {

namespace {

size_t key_floats(const LayerSpec& layer) {
    const AttentionSpec* attention = layer.attention();
    return attention == nullptr
               ? 0
               : size_t{attention->num_kv_heads} * attention->key_dim * kKvBlockTokens;
}

size_t value_floats(const LayerSpec& layer) {
    const AttentionSpec* attention = layer.attention();
    return attention == nullptr
               ? 0
               : size_t{attention->num_kv_heads} * attention->value_dim * kKvBlockTokens;
}

}  // namespace

uint64_t KvPool::block_bytes(const ModelSpec& spec) {
    uint64_t floats = 0;
    for (const LayerSpec& layer : spec.layers) floats += key_floats(layer) + value_floats(layer);
    return floats * sizeof(float);
}

Result<KvPool> KvPool::create(const ModelSpec& spec, uint32_t num_blocks) {
    KvPool pool;
    pool.num_blocks_ = num_blocks;
    pool.layers_.resize(spec.layers.size());
    const auto lay_out = [&](BufferLayout& layout) {
        for (size_t i = 0; i < spec.layers.size(); ++i) {
            Layer& layer = pool.layers_[i];
            layer.key_stride = key_floats(spec.layers[i]);
            layer.value_stride = value_floats(spec.layers[i]);
            layer.keys = layout.take<float>(layer.key_stride * num_blocks);
            layer.values = layout.take<float>(layer.value_stride * num_blocks);
        }
    };
    BufferLayout sizes;
    lay_out(sizes);
    pool.buffer_ = AlignedBuffer(sizes.used_bytes());
    if (pool.buffer_.data() == nullptr)
        return Error{ErrorCode::out_of_memory, "no memory for the KV cache", "CPU backend",
                     fmt::format("{} bytes for {} blocks", sizes.used_bytes(), num_blocks)};
    BufferLayout layout(pool.buffer_.data());
    lay_out(layout);
    return pool;
}

KvPages KvPool::pages(uint32_t layer, const uint32_t* blocks) const {
    const Layer& part = layers_[layer];
    return {.keys = part.keys,
            .values = part.values,
            .key_block_stride = part.key_stride,
            .value_block_stride = part.value_stride,
            .blocks = blocks};
}

void KvPool::copy_block(uint32_t from, uint32_t to) {
    assert(from < num_blocks_ && to < num_blocks_ && "the engine owns only blocks of the pool");
    for (const Layer& layer : layers_) {
        std::memcpy(layer.keys + to * layer.key_stride, layer.keys + from * layer.key_stride,
                    layer.key_stride * sizeof(float));
        std::memcpy(layer.values + to * layer.value_stride,
                    layer.values + from * layer.value_stride, layer.value_stride * sizeof(float));
    }
}

}  // namespace hokku::cpu
