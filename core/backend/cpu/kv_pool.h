// SPDX-License-Identifier: Apache-2.0
// KvPool: the memory of all KV blocks of a CPU backend, block by block with all layers of each, so
// that a short text writes to few pages. Which sequence owns which block is the engine's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/attention.h"
#include "base/aligned_buffer.h"
#include "hokku/result.h"
#include "model/model_spec.h"

namespace hokku::cpu {

/// Threads: pages() from any lane; the rest from the owning thread between steps.
class KvPool {
  public:
    /// Errors : out_of_memory.
    static Result<KvPool> create(const ModelSpec& spec, KvType type, uint32_t num_blocks);

    /// Bytes that one block takes over all layers.
    static uint64_t block_bytes(const ModelSpec& spec, KvType type);

    /// Where its memory comes from, on a machine with several NUMA nodes; before it is written.
    void place(std::span<const uint32_t> numa_nodes);

    [[nodiscard]] KvPages pages(uint32_t layer, const uint32_t* blocks) const;
    void copy_block(uint32_t from, uint32_t to);
    /// Copies all blocks of a smaller pool of the same model and type to the same places.
    void take_blocks_of(const KvPool& smaller);
    /// One layer's part of Backend::read_block and write_block, for the heads of this pool.
    void read_layer(uint32_t layer, uint32_t block, uint32_t num_tokens, std::byte* keys,
                    std::byte* values) const;
    void write_layer(uint32_t layer, uint32_t block, const std::byte* keys,
                     const std::byte* values);
    [[nodiscard]] uint32_t num_blocks() const { return num_blocks_; }
    [[nodiscard]] uint64_t bytes() const { return buffer_.size_bytes(); }

  private:
    struct Layer {
        std::byte* keys = nullptr;  // Of the first block.
        std::byte* values = nullptr;
        size_t key_bytes = 0, value_bytes = 0;  // Of a block.
        uint32_t num_heads = 0, key_dim = 0, value_dim = 0;
    };

    AlignedBuffer buffer_;
    std::vector<Layer> layers_;
    KvType type_ = KvType::f32;
    uint32_t num_blocks_ = 0;
    size_t block_stride_ = 0;  // Bytes.
};

}  // namespace hokku::cpu
