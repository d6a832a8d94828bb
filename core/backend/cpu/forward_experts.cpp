// SPDX-License-Identifier: Apache-2.0
// The FFN of expert layers: route each row, run each expert once on all the rows that chose it,
// then add up by row. A slot is one (row, chosen expert) pair; slots are sorted by expert.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "backend/cpu/forward.h"
#include "backend/cpu/router.h"

namespace hokku::cpu {

void Forward::route(const ExpertSpec& spec, const LayerWeights& weights) {
    const size_t num_experts = spec.num_experts, num_used = spec.num_used;
    const MatmulTarget router{&weights.router, weights.router_bias.data, buffers_.router_logits,
                              num_experts};
    multiply(all_rows(input_, buffers_.dim), {&router, 1}, Precision::fine);

    const Lane::Range rows = lane_.share(num_rows_);
    for (uint32_t row = rows.begin; row < rows.end; ++row)
        choose_experts(spec, buffers_.router_logits + row * num_experts,
                       weights.router_selection_bias.data, buffers_.chosen + row * num_used,
                       buffers_.chosen_weight + row * num_used);
    lane_.barrier();

    // Counting sort of the slots by expert.
    if (lane_.index == 0) {
        const size_t num_slots = num_rows_ * num_used;
        uint32_t* first = buffers_.first_slot;
        std::fill_n(first, num_experts + 1, 0u);
        for (size_t i = 0; i < num_slots; ++i) ++first[buffers_.chosen[i]];
        uint32_t begin = 0;
        for (size_t e = 0; e <= num_experts; ++e) begin += std::exchange(first[e], begin);
        for (size_t i = 0; i < num_slots; ++i) {
            const uint32_t slot = first[buffers_.chosen[i]]++;
            buffers_.slot_of[i] = slot;
            buffers_.slot_row[slot] = static_cast<uint32_t>(i / num_used);
        }
        // Each start has moved to the next expert's: move them back.
        for (size_t e = num_experts; e > 0; --e) first[e] = first[e - 1];
        first[0] = 0;
    }
    lane_.barrier();
}

void Forward::run_experts(const FfnSpec& ffn, const LayerWeights& weights) {
    const ExpertSpec& spec = *ffn.experts;
    const size_t dim = buffers_.dim, hidden = spec.hidden;
    const uint32_t num_slots = num_rows_ * spec.num_used;
    route(spec, weights);

    // Rows in the order of the slots, so that each expert's input is one matrix.
    const Lane::Range slots = lane_.share(num_slots);
    for (uint32_t slot = slots.begin; slot < slots.end; ++slot)
        std::copy_n(input_ + buffers_.slot_row[slot] * dim, dim, buffers_.expert_in + slot * dim);
    lane_.barrier();

    const auto for_each_used = [&](auto&& run) {
        bool packs_rows = false;
        for (uint32_t e = 0; e < spec.num_experts; ++e) {
            const uint32_t begin = buffers_.first_slot[e];
            const uint32_t count = buffers_.first_slot[e + 1] - begin;
            if (count == 0) continue;
            // The slots of an expert are in the order of their rows.
            uint32_t num_vectors = 0;
            while (num_vectors < count && buffers_.slot_row[begin + num_vectors] < num_vector_rows_)
                ++num_vectors;
            // Products of other rows pack them into shared memory, one product at a time.
            if (count > num_vectors && std::exchange(packs_rows, true)) lane_.barrier();
            run(e, begin, count, num_vectors);
        }
    };
    const auto bias_of = [](const std::vector<WeightVector>& biases, uint32_t e) {
        return biases.empty() ? nullptr : biases[e].data;
    };

    // gate, up
    for_each_used([&](uint32_t e, size_t begin, uint32_t count, uint32_t num_vectors) {
        float* gate_out = buffers_.gate + begin * hidden;
        float* up_out = (ffn.gated ? buffers_.up : buffers_.gate) + begin * hidden;
        std::array<MatmulTarget, 2> both;
        both[0] = {&weights.expert_up[e], bias_of(weights.b_expert_up, e), up_out, hidden};
        if (ffn.gated)
            both[1] = {&weights.expert_gate[e], bias_of(weights.b_expert_gate, e), gate_out,
                       hidden};
        const std::span<const MatmulTarget> targets(both.data(), ffn.gated ? 2 : 1);
        matmul(lane_, kernels_, memory_.matmul,
               {buffers_.expert_in + begin * dim, dim, count, num_vectors}, targets);
    });
    activate_rows(ffn, num_slots, hidden);

    // down
    for_each_used([&](uint32_t e, size_t begin, uint32_t count, uint32_t num_vectors) {
        const MatmulTarget down{&weights.expert_down[e], bias_of(weights.b_expert_down, e),
                                buffers_.expert_out + begin * dim, dim};
        matmul(lane_, kernels_, memory_.matmul,
               {buffers_.gate + begin * hidden, hidden, count, num_vectors}, {&down, 1});
    });
    lane_.barrier();

    if (spec.shared_hidden > 0) run_shared_expert(ffn, weights);

    // Weighted sum by row, experts in the order of choice.
    const Lane::Range rows = lane_.share(num_rows_);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
        float* out = buffers_.ffn_out + row * dim;
        std::fill_n(out, dim, 0.0f);
        for (size_t j = row * spec.num_used; j < (row + size_t{1}) * spec.num_used; ++j)
            kernels_.add_scaled(out, buffers_.expert_out + buffers_.slot_of[j] * dim,
                                buffers_.chosen_weight[j], dim);
        if (spec.shared_hidden > 0) {
            const float gate =
                spec.shared_gate ? 1.0f / (1.0f + std::exp(-buffers_.shared_gate[row])) : 1.0f;
            kernels_.add_scaled(out, buffers_.expert_in + row * dim, gate, dim);
        }
    }
    add_up(buffers_.ffn_out);
}

/// The expert that every row passes. Its output takes the place of the experts' inputs.
void Forward::run_shared_expert(const FfnSpec& ffn, const LayerWeights& weights) {
    const ExpertSpec& spec = *ffn.experts;
    const size_t dim = buffers_.dim, hidden = spec.shared_hidden;
    std::array<MatmulTarget, 3> targets;
    uint32_t num_targets = 0;
    targets[num_targets++] = {&weights.shared_up, nullptr, ffn.gated ? buffers_.up : buffers_.gate,
                              hidden};
    if (ffn.gated) targets[num_targets++] = {&weights.shared_gate, nullptr, buffers_.gate, hidden};
    if (spec.shared_gate)
        targets[num_targets++] = {&weights.shared_router, nullptr, buffers_.shared_gate, 1};
    matmul(lane_, kernels_, memory_.matmul, all_rows(input_, dim),
           std::span<const MatmulTarget>(targets.data(), num_targets));
    activate_rows(ffn, num_rows_, hidden);
    const MatmulTarget down{&weights.shared_down, nullptr, buffers_.expert_in, dim};
    multiply(all_rows(buffers_.gate, hidden), {&down, 1});
}

}  // namespace hokku::cpu
