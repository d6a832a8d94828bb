// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kv_pool.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "backend/cpu/kv_layout.h"
#include "base/numa.h"
#include "base/zeroed_pages.h"

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

/// Zeros the scales of the positions from `first` on.
void clear_scales(KvType type, std::byte* scales, size_t dim, size_t first) {
    if (kv_has_scales(type)) clear_columns(scales, kv_num_groups(dim), sizeof(uint16_t), first);
}

/// Zeros the positions from `first` on of one head.
void clear_keys(KvType type, std::byte* head, size_t key_dim, size_t first) {
    const size_t num_rows = kv_key_rows(type, key_dim);
    clear_columns(head, num_rows, kv_element_size(type), first);
    clear_scales(type, head + kv_element_bytes(type, num_rows), key_dim, first);
}

void clear_values(KvType type, std::byte* head, size_t value_dim, size_t first) {
    const size_t elements = kv_element_bytes(type, kv_value_row(type, value_dim));
    const size_t used = elements / kKvPositions * first;
    std::memset(head + used, 0, elements - used);
    clear_scales(type, head + elements, value_dim, first);
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
            layer.key_bytes = key_bytes(spec.layers[i], type);
            layer.value_bytes = value_bytes(spec.layers[i], type);
            layer.keys = layout.take<std::byte>(layer.key_bytes);
            layer.values = layout.take<std::byte>(layer.value_bytes);
        }
    };
    BufferLayout block;
    lay_out(block);
    pool.block_stride_ = block.used_bytes();
    const uint64_t bytes = uint64_t{pool.block_stride_} * num_blocks;
    pool.buffer_ = AlignedBuffer(bytes);
    if (pool.buffer_.data() == nullptr)
        return Error{ErrorCode::out_of_memory, "no memory for the KV cache", "CPU backend",
                     fmt::format("{} bytes for {} blocks", bytes, num_blocks)};
    BufferLayout first_block(pool.buffer_.data());
    lay_out(first_block);
    return pool;
}

void KvPool::place(std::span<const uint32_t> numa_nodes) {
    // Smaller ones are part of memory that others use, too.
    if (buffer_.size_bytes() >= kHugePageBytes)
        static_cast<void>(place_memory({buffer_.data(), buffer_.size_bytes()}, numa_nodes));
}

KvPages KvPool::pages(uint32_t layer, const uint32_t* blocks) const {
    const Layer& part = layers_[layer];
    return {.type = type_,
            .keys = part.keys,
            .values = part.values,
            .key_block_stride = block_stride_,
            .value_block_stride = block_stride_,
            .blocks = blocks};
}

void KvPool::copy_block(uint32_t from, uint32_t to) {
    assert(from < num_blocks_ && to < num_blocks_ && "the engine owns only blocks of the pool");
    std::memcpy(buffer_.data() + to * block_stride_, buffer_.data() + from * block_stride_,
                block_stride_);
}

void KvPool::take_blocks_of(const KvPool& smaller) {
    assert(smaller.num_blocks_ <= num_blocks_ && smaller.block_stride_ == block_stride_);
    std::memcpy(buffer_.data(), smaller.buffer_.data(), smaller.buffer_.size_bytes());
}

void KvPool::read_layer(uint32_t layer, uint32_t block, uint32_t num_tokens, std::byte* keys,
                        std::byte* values) const {
    assert(block < num_blocks_ && "the engine owns only blocks of the pool");
    const Layer& part = layers_[layer];
    std::memcpy(keys, part.keys + block * block_stride_, part.key_bytes);
    std::memcpy(values, part.values + block * block_stride_, part.value_bytes);
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
    std::memcpy(part.keys + block * block_stride_, keys, part.key_bytes);
    std::memcpy(part.values + block * block_stride_, values, part.value_bytes);
}

}  // namespace hokku::cpu
