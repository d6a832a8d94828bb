// SPDX-License-Identifier: Apache-2.0
// StepBuffers: every intermediate of a model step, allocated once for the largest step. Shared
// buffers have a row for each token of the step; lane buffers belong to one lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "hokku/result.h"
#include "model/model_spec.h"

namespace hokku::cpu {

/// Up to this many rows each lane does the elementwise work (norms, residual, RoPE) of all rows
/// for itself, in buffers of its own, which saves a barrier each time; above, lanes share the rows.
inline constexpr uint32_t kFewRows = 4;

/// What one lane keeps for itself when a step has few rows.
struct LaneBuffers {
    float* x = nullptr;       ///< [kFewRows][dim] residual stream
    float* normed = nullptr;  ///< [kFewRows][dim] input of the next products
    float* q = nullptr;       ///< [kFewRows][num_heads * key_dim]
    float* k = nullptr;       ///< [kFewRows][num_kv_heads * key_dim]
    float* y = nullptr;       ///< [dim], also used when a step has many rows
};

struct StepBuffers {
    /// Errors : out_of_memory.
    static Result<StepBuffers> create(const ModelSpec& spec, uint32_t num_lanes, uint32_t max_rows,
                                      uint32_t max_logits);

    AlignedBuffer memory;
    uint32_t max_rows = 0, max_logits = 0;
    size_t dim = 0;
    size_t q_dim = 0, k_dim = 0, v_dim = 0, mix_dim = 0;  ///< The largest of all layers.
    size_t rope_floats = 0;  ///< Of one row: for each RoPE num_dims / 2 cosines, then sines.

    float* x = nullptr;             ///< [max_rows][dim] residual stream
    float* normed = nullptr;        ///< [max_rows][dim]
    float* q = nullptr;             ///< [max_rows][q_dim]
    float* k = nullptr;             ///< [max_rows][k_dim]
    float* v = nullptr;             ///< [max_rows][v_dim]
    float* mix = nullptr;           ///< [max_rows][mix_dim]
    float* attn_out = nullptr;      ///< [max_rows][dim]
    float* ffn_out = nullptr;       ///< [max_rows][dim]
    float* gate = nullptr;          ///< [rows][hidden] of the dense, shared or chosen experts' FFNs
    float* up = nullptr;            ///< The same.
    float* head_squares = nullptr;  ///< [max_rows][2]: sums of squares of q and of k
    float* cos_sin = nullptr;       ///< [max_rows][rope_floats]
    float* logits = nullptr;        ///< [max_logits][num_vocab]

    // Experts; a slot is one (row, chosen expert) pair, slots are sorted by expert.
    float* router_logits = nullptr;    ///< [max_rows][num_experts]
    float* shared_gate = nullptr;      ///< [max_rows]
    float* expert_in = nullptr;        ///< [max_rows * num_used][dim]
    float* expert_out = nullptr;       ///< [max_rows * num_used][dim]
    float* chosen_weight = nullptr;    ///< [max_rows][num_used]
    uint32_t* chosen = nullptr;        ///< [max_rows][num_used] experts
    uint32_t* slot_of = nullptr;       ///< [max_rows][num_used]
    uint32_t* slot_row = nullptr;      ///< [max_rows * num_used]
    uint32_t* first_slot = nullptr;    ///< [num_experts + 1]
    uint32_t* row_position = nullptr;  ///< [max_rows]

    std::vector<LaneBuffers> lanes;

  private:
    void lay_out(BufferLayout& layout, const ModelSpec& spec);
};

}  // namespace hokku::cpu
