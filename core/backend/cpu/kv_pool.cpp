// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kv_pool.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "backend/cpu/kv_layout.h"

namespace hokku::cpu {

namespace {

size_t key_bytes(const LayerSpec& layer, KvType type) {
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr) return 0;
    return attention->num_kv_heads * kv_key_head_bytes(type, attention->key_dim);
}

size_t value_bytes(const LayerSpec& layer, KvType type) {
    const AttentionSpec* attention = layer.attention();
    if (attention == nullptr) return 0;
    return attention->num_kv_heads * kv_value_head_bytes(type, attention->value_dim);
}

/// Zeros the columns from `first` on in rows of kKvPositions elements.
void clear_columns(std::byte* rows, size_t num_rows, size_t element_bytes, size_t first) {
    for (size_t row = 0; row < num_rows; ++row)
        std::memset(rows + (row * kKvPositions + first) * element_bytes, 0,
                    (kKvPositions - first) * element_bytes);
}

/// Zeros the positions from `first` on of one head.
void clear_keys(KvType type, std::byte* head, size_t key_dim, size_t first) {
    const size_t elements = kv_element_bytes(type, key_dim);
    clear_columns(head, key_dim, elements / key_dim / kKvPositions, first);
    const size_t num_groups = kv_scale_bytes(type, key_dim) / sizeof(uint16_t) / kKvPositions;
    clear_columns(head + elements, num_groups, sizeof(uint16_t), first);
}

void clear_values(KvType type, std::byte* head, size_t value_dim, size_t first) {
    const size_t elements = kv_element_bytes(type, kv_value_row(type, value_dim));
    const size_t used = elements / kKvPositions * first;
    std::memset(head + used, 0, elements - used);
    const size_t num_groups = kv_scale_bytes(type, value_dim) / sizeof(uint16_t) / kKvPositions;
    clear_columns(head + elements, num_groups, sizeof(uint16_t), first);
}

}  // namespace

uint64_t KvPool::block_bytes(const ModelSpec& spec, KvType type) {
    uint64_t bytes = 0;
    for (const LayerSpec& layer : spec.layers)
        bytes += key_bytes(layer, type) + value_bytes(layer, type);
    return bytes;
}

Result<KvPool> KvPool::create(const ModelSpec& spec, KvType type, uint32_t num_blocks) {
    KvPool pool;
    pool.type_ = type;
    pool.num_blocks_ = num_blocks;
    pool.layers_.resize(spec.layers.size());
    const auto lay_out = [&](BufferLayout& layout) {
        for (size_t i = 0; i < spec.layers.size(); ++i) {
            Layer& layer = pool.layers_[i];
            if (const AttentionSpec* attention = spec.layers[i].attention()) {
                layer.num_heads = attention->num_kv_heads;
                layer.key_dim = attention->key_dim;
                layer.value_dim = attention->value_dim;
            }
            layer.key_stride = key_bytes(spec.layers[i], type);
            layer.value_stride = value_bytes(spec.layers[i], type);
            layer.keys = layout.take<std::byte>(layer.key_stride * num_blocks);
            layer.values = layout.take<std::byte>(layer.value_stride * num_blocks);
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
    return {.type = type_,
            .keys = part.keys,
            .values = part.values,
            .key_block_stride = part.key_stride,
            .value_block_stride = part.value_stride,
            .blocks = blocks};
}

void KvPool::copy_block(uint32_t from, uint32_t to) {
    assert(from < num_blocks_ && to < num_blocks_ && "the engine owns only blocks of the pool");
    for (const Layer& layer : layers_) {
        std::memcpy(layer.keys + to * layer.key_stride, layer.keys + from * layer.key_stride,
                    layer.key_stride);
        std::memcpy(layer.values + to * layer.value_stride,
                    layer.values + from * layer.value_stride, layer.value_stride);
    }
}

void KvPool::take_blocks_of(const KvPool& smaller) {
    assert(smaller.num_blocks_ <= num_blocks_ && smaller.layers_.size() == layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
        const Layer& from = smaller.layers_[i];
        std::memcpy(layers_[i].keys, from.keys, from.key_stride * smaller.num_blocks_);
        std::memcpy(layers_[i].values, from.values, from.value_stride * smaller.num_blocks_);
    }
}

void KvPool::read_layer(uint32_t layer, uint32_t block, uint32_t num_tokens, std::byte* keys,
                        std::byte* values) const {
    assert(block < num_blocks_ && "the engine owns only blocks of the pool");
    const Layer& part = layers_[layer];
    std::memcpy(keys, part.keys + block * part.key_stride, part.key_stride);
    std::memcpy(values, part.values + block * part.value_stride, part.value_stride);
    for (size_t head = 0; num_tokens < kKvPositions && head < part.num_heads; ++head) {
        clear_keys(type_, keys + head * kv_key_head_bytes(type_, part.key_dim), part.key_dim,
                   num_tokens);
        clear_values(type_, values + head * kv_value_head_bytes(type_, part.value_dim),
                     part.value_dim, num_tokens);
    }
}

void KvPool::write_layer(uint32_t layer, uint32_t block, const std::byte* keys,
                         const std::byte* values) {
    assert(block < num_blocks_ && "the engine owns only blocks of the pool");
    const Layer& part = layers_[layer];
    std::memcpy(part.keys + block * part.key_stride, keys, part.key_stride);
    std::memcpy(part.values + block * part.value_stride, values, part.value_stride);
}

}  // namespace hokku::cpu
