// SPDX-License-Identifier: Apache-2.0
// KvMemory: the blocks of keys and values of all layers on a device, and one more that rows which
// nobody asked for write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hokku/kv_type.h"
#include "kernels/params.h"
#include "model/model_spec.h"
#include "plugin/gpu.h"

namespace hokku::cuda {

class KvMemory {
  public:
    KvMemory() = default;
    /// Bytes of one block on the device.
    static uint64_t block_bytes(const ModelSpec& spec, KvType type);
    static Result<KvMemory> create(const Gpu& gpu, const ModelSpec& spec, KvType type,
                                   uint32_t num_blocks);

    /// Keys and values of a layer for rows whose tables are at `tables`.
    [[nodiscard]] KvPool pool(uint32_t layer, const uint32_t* tables) const;
    [[nodiscard]] uint32_t num_blocks() const { return num_blocks_; }
    [[nodiscard]] uint32_t spare_block() const { return num_blocks_; }
    [[nodiscard]] uint64_t bytes() const { return memory_.size_bytes(); }
    /// Positions of each split of attention, and how many there are for the longest sequence.
    [[nodiscard]] uint32_t split_positions() const;
    [[nodiscard]] uint32_t num_splits() const;

    /// Into the stream.
    Result<void> copy_block(const Gpu& gpu, uint32_t from, uint32_t to);
    Result<void> take_blocks_of(const Gpu& gpu, const KvMemory& smaller);
    /// As Backend::read_block and write_block have it. They wait.
    Result<void> read_block(const Gpu& gpu, uint32_t block, uint32_t num_tokens,
                            std::span<std::byte> out) const;
    Result<void> write_block(const Gpu& gpu, uint32_t block, std::span<const std::byte> bytes);
    [[nodiscard]] uint64_t file_block_bytes() const;
    /// One key of one layer as float32, all heads.
    Result<std::vector<float>> read_key(const Gpu& gpu, uint32_t layer, uint32_t block,
                                        uint32_t slot) const;

  private:
    struct Layer {
        DevicePointer keys = 0, values = 0;
        size_t key_bytes = 0, value_bytes = 0;  ///< Of a block.
        uint32_t num_heads = 0, key_dim = 0, value_dim = 0;
    };
    [[nodiscard]] size_t file_value_bytes(const Layer& layer) const;

    GpuMemory memory_;
    std::vector<Layer> layers_;
    KvType type_ = KvType::f32;
    uint32_t num_blocks_ = 0;
};

/// Splits that attention has at most.
inline constexpr uint32_t kMaxSplits = 64;

}  // namespace hokku::cuda
