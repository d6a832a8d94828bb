// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/step_buffers.h"

#include <fmt/format.h>

#include <algorithm>

namespace hokku::cpu {

void StepBuffers::lay_out(BufferLayout& layout, const ModelSpec& spec) {
    const size_t rows = max_rows;
    size_t hidden_floats = 0, num_experts = 0, num_used = 0;
    for (const LayerSpec& layer : spec.layers) {
        if (const AttentionSpec* attention = layer.attention()) {
            const size_t heads = attention->num_heads, kv_heads = attention->num_kv_heads;
            q_dim = std::max(q_dim, heads * attention->key_dim);
            k_dim = std::max(k_dim, kv_heads * attention->key_dim);
            v_dim = std::max(v_dim, kv_heads * attention->value_dim);
            mix_dim = std::max(mix_dim, heads * attention->value_dim);
        }
        hidden_floats = std::max(hidden_floats, rows * layer.ffn.hidden);
        if (const auto& experts = layer.ffn.experts) {
            num_experts = std::max<size_t>(num_experts, experts->num_experts);
            num_used = std::max<size_t>(num_used, experts->num_used);
            hidden_floats = std::max({hidden_floats, rows * experts->num_used * experts->hidden,
                                      rows * experts->shared_hidden});
        }
    }
    dim = spec.dim;
    rope_floats = 0;
    for (const RopeSpec& rope : spec.ropes) rope_floats += rope.num_dims;

    x = layout.take<float>(rows * dim);
    normed = layout.take<float>(rows * dim);
    q = layout.take<float>(rows * q_dim);
    k = layout.take<float>(rows * k_dim);
    v = layout.take<float>(rows * v_dim);
    mix = layout.take<float>(rows * mix_dim);
    attn_out = layout.take<float>(rows * dim);
    ffn_out = layout.take<float>(rows * dim);
    gate = layout.take<float>(hidden_floats);
    up = layout.take<float>(hidden_floats);
    head_squares = layout.take<float>(rows * 2);
    cos_sin = layout.take<float>(rows * rope_floats);
    logits = layout.take<float>(size_t{max_logits} * spec.num_vocab);
    row_position = layout.take<uint32_t>(rows);
    const size_t slots = rows * num_used;
    if (num_experts > 0) {
        router_logits = layout.take<float>(rows * num_experts);
        shared_gate = layout.take<float>(rows);
        expert_in = layout.take<float>(slots * dim);
        expert_out = layout.take<float>(slots * dim);
        chosen_weight = layout.take<float>(slots);
        chosen = layout.take<uint32_t>(slots);
        slot_of = layout.take<uint32_t>(slots);
        slot_row = layout.take<uint32_t>(slots);
        first_slot = layout.take<uint32_t>(num_experts + 1);
    }
    for (LaneBuffers& lane : lanes) {
        lane.x = layout.take<float>(kFewRows * dim);
        lane.normed = layout.take<float>(kFewRows * dim);
        lane.q = layout.take<float>(kFewRows * q_dim);
        lane.k = layout.take<float>(kFewRows * k_dim);
        lane.y = layout.take<float>(dim);
    }
}

Result<StepBuffers> StepBuffers::create(const ModelSpec& spec, uint32_t num_lanes,
                                        uint32_t max_rows, uint32_t max_logits) {
    StepBuffers buffers;
    buffers.max_rows = max_rows;
    buffers.max_logits = max_logits;
    buffers.lanes.resize(num_lanes);
    BufferLayout sizes;
    buffers.lay_out(sizes, spec);
    buffers.memory = AlignedBuffer(sizes.used_bytes());
    if (buffers.memory.data() == nullptr)
        return Error{ErrorCode::out_of_memory, "no memory for the buffers of a step", "CPU backend",
                     fmt::format("{} bytes for {} rows", sizes.used_bytes(), max_rows)};
    BufferLayout layout(buffers.memory.data());
    buffers.lay_out(layout, spec);
    return buffers;
}

}  // namespace hokku::cpu
