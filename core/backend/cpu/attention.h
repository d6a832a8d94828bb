// SPDX-License-Identifier: Apache-2.0
// attention: softmax(q k^T) v over the paged KV of one layer and one sequence, in float32, called
// by all lanes of a team together. Also appends keys and values to the pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cpu/kernels.h"
#include "backend/cpu/thread_team.h"
#include "hokku/kv_type.h"
#include "hokku/result.h"

namespace hokku::cpu {

/// The KV pages of one layer. A block holds kKvBlockTokens positions; within a block the heads lie
/// one after another, each as kv_layout.h says.
/// Only KV heads are stored; query head h reads KV head h / (num_heads / num_kv_heads).
struct KvPages {
    KvType type = KvType::f32;
    std::byte* keys = nullptr;  ///< First block of the layer.
    std::byte* values = nullptr;
    size_t key_block_stride = 0;  ///< Bytes between blocks.
    size_t value_block_stride = 0;
    const uint32_t* blocks = nullptr;  ///< Block table of the sequence.
};

struct AttentionCall {
    const float* q = nullptr;  ///< [num_rows][num_heads][key_dim], after RoPE.
    size_t q_stride = 0;       ///< Floats between rows.
    float* out = nullptr;      ///< [num_rows][num_heads][value_dim]
    size_t out_stride = 0;
    KvPages kv;
    uint32_t num_rows = 0;
    uint32_t first_position =
        0;  ///< Position of row 0; row r sees positions <= first_position + r.
    uint32_t num_heads = 0, num_kv_heads = 0, key_dim = 0, value_dim = 0;
    float scale = 1.0f;
    float logit_softcap = 0.0f;  ///< cap * tanh(s / cap) before the mask; 0: none.
    uint32_t window = 0;         ///< Only the last `window` positions are seen; 0: all.
    /// [num_heads] or null: a logit per head that joins the softmax without a value (gpt-oss).
    const float* sinks = nullptr;
};

/// Stores k [num_rows][num_kv_heads][key_dim] and v [..][value_dim] at positions
/// first_position + r, in the pages' type. Values that are not finite stay so. All lanes together;
/// complete after the next barrier.
void append_kv(const Lane& lane, const KvPages& pages, const float* k, size_t k_stride,
               const float* v, size_t v_stride, uint32_t num_rows, uint32_t first_position,
               uint32_t num_kv_heads, uint32_t key_dim, uint32_t value_dim);

/// Upper bounds of all calls that use one scratch.
struct AttentionLimits {
    uint32_t num_lanes = 1;
    uint32_t max_heads = 0;
    uint32_t max_value_dim = 0;
};

/// Scratch memory of attention, sized once at load.
class AttentionScratch {
  public:
    /// Errors : out_of_memory.
    static Result<AttentionScratch> create(const AttentionLimits& limits);
    AttentionScratch(AttentionScratch&&) noexcept;
    AttentionScratch& operator=(AttentionScratch&&) noexcept;
    ~AttentionScratch();
    [[nodiscard]] size_t bytes() const;

    struct State;
    State& state() { return *state_; }

  private:
    explicit AttentionScratch(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Positions outside the mask are skipped, never exponentiated. The KV of all rows must be
/// appended and visible (barrier); out is complete after the next barrier. No allocation.
void attention(const Lane& lane, const KernelTable& kernels, AttentionScratch& scratch,
               const AttentionCall& call);

}  // namespace hokku::cpu
