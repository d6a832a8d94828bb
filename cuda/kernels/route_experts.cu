// SPDX-License-Identifier: Apache-2.0
// The router of expert layers: from a row's logits to its experts and their weights, and the sum of
// what they give.
// Source : Shazeer et al. 2017, arXiv:1701.06538; groups and bias: DeepSeek-V3, arXiv:2412.19437.
#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"

namespace hokku::cuda {

constexpr float kNever = -3.4e38f;  // Finite: below any score.

/// An expert as lanes compare it; kMaxExperts: none.
struct Choice {
    float score;
    uint32_t id;
};
HOKKU_DEVICE Choice better_of(const Choice& a, const Choice& b) {
    if (b.id == kMaxExperts) return a;
    if (a.id == kMaxExperts || b.score > a.score) return b;
    return b.score == a.score && b.id < a.id ? b : a;
}

HOKKU_DEVICE Choice best_of_warp(Choice choice) {
    HOKKU_UNROLL
    for (uint32_t bits = kWarp / 2; bits > 0; bits /= 2) {
        const Choice other = {shuffle_xor(kAllLanes, choice.score, bits),
                              shuffle_xor(kAllLanes, choice.id, bits)};
        choice = lane_id() & bits ? better_of(other, choice) : better_of(choice, other);
    }
    return choice;
}

/// Sum of the two best scores of a group of experts.
template <class Scores>
HOKKU_DEVICE float group_score(const RouteParams& p, Scores& scores, uint32_t group) {
    const uint32_t size = p.num_experts / p.num_groups;
    float first = kNever, second = kNever;
    for (uint32_t i = group * size; i < (group + 1) * size; ++i) {
        const float score = scores[i] + (p.selection_bias != nullptr ? p.selection_bias[i] : 0.0f);
        if (score > first) {
            second = first;
            first = score;
        } else if (score > second) {
            second = score;
        }
    }
    return size == 1 ? first : first + second;
}

/// One warp for each row.
HOKKU_KERNEL(route_experts, RouteParams, 32) {
    HOKKU_SHARED(float, scores, kMaxExperts);
    HOKKU_SHARED(uint32_t, is_open, kMaxExperts);  // May still be chosen.
    HOKKU_SHARED(float, group_scores, kMaxExperts);
    wait_for_primary();
    allow_dependents();
    const float* logits = p.logits + uint64_t{block_x()} * p.num_experts;
    float largest = kNever, sum = 0;
    for (uint32_t i = lane_id(); i < p.num_experts; i += kWarp) largest = max_f(largest, logits[i]);
    largest = warp_max(largest);
    for (uint32_t i = lane_id(); i < p.num_experts; i += kWarp) {
        float score = logits[i];
        if (p.gating == kGatingSoftmax) sum += score = exp_f(score - largest);
        if (p.gating == kGatingSigmoid) score = 1.0f / (1.0f + exp_f(-score));
        scores[i] = score;
        is_open[i] = 1;
    }
    if (p.gating == kGatingSoftmax) {
        sum = warp_sum(sum);
        for (uint32_t i = lane_id(); i < p.num_experts; i += kWarp) scores[i] /= sum;
    }
    warp_barrier(kAllLanes);
    if (p.num_groups > 1) {
        const uint32_t size = p.num_experts / p.num_groups;
        for (uint32_t g = lane_id(); g < p.num_groups; g += kWarp) {
            group_scores[g] = group_score(p, scores, g);
        }
        warp_barrier(kAllLanes);
        for (uint32_t g = lane_id(); g < p.num_groups; g += kWarp) {
            uint32_t better = 0;
            for (uint32_t other = 0; other < p.num_groups; ++other) {
                const bool is_better = group_scores[other] > group_scores[g] ||
                                       (group_scores[other] == group_scores[g] && other < g);
                better += is_better ? 1u : 0u;
            }
            if (better < p.num_groups_used) continue;
            for (uint32_t i = g * size; i < (g + 1) * size; ++i) is_open[i] = 0;
        }
        warp_barrier(kAllLanes);
    }

    const uint64_t out = uint64_t{block_x()} * p.num_used;
    float weight_sum = 0, most = kNever;
    for (uint32_t j = 0; j < p.num_used; ++j) {
        Choice choice = {kNever, kMaxExperts};
        for (uint32_t i = lane_id(); i < p.num_experts; i += kWarp) {
            if (is_open[i] == 0) continue;
            const float bias = p.selection_bias != nullptr ? p.selection_bias[i] : 0.0f;
            choice = better_of(choice, {scores[i] + bias, i});
        }
        choice = best_of_warp(choice);
        const float weight = scores[choice.id];
        warp_barrier(kAllLanes);
        if (lane_id() == 0) {
            is_open[choice.id] = 0;
            p.ids[out + j] = choice.id;
            p.weights[out + j] = weight;
        }
        weight_sum += weight;
        most = max_f(most, weight);
        warp_barrier(kAllLanes);
    }
    if (lane_id() != 0) return;
    if (p.gating == kGatingSoftmaxChosen) {
        float exp_sum = 0;
        for (uint32_t j = 0; j < p.num_used; ++j) {
            exp_sum += p.weights[out + j] = exp_f(p.weights[out + j] - most);
        }
        weight_sum = 0;
        for (uint32_t j = 0; j < p.num_used; ++j) weight_sum += p.weights[out + j] /= exp_sum;
    }
    float factor = p.weight_scale;
    if (p.renormalise != 0) {
        const float divisor = max_f(weight_sum, p.min_weight_sum);
        if (divisor > 0.0f) factor /= divisor;
    }
    for (uint32_t j = 0; j < p.num_used; ++j) p.weights[out + j] *= factor;
}

/// A thread for each expert.
HOKKU_KERNEL(sort_experts, SortExpertsParams, 512) {
    HOKKU_SHARED(uint32_t, counts, kMaxExperts);
    wait_for_primary();
    allow_dependents();
    const uint32_t expert = thread_id();
    uint32_t count = 0;
    if (expert < p.num_experts) {
        for (uint32_t i = 0; i < p.num_outputs; ++i) count += p.ids[i] == expert ? 1u : 0u;
        counts[expert] = count;
    }
    block_barrier();
    if (expert >= p.num_experts) return;
    uint32_t place = 0;
    for (uint32_t i = 0; i < expert; ++i) place += counts[i];
    p.bounds[expert] = place;
    if (expert + 1 == p.num_experts) p.bounds[p.num_experts] = place + count;
    for (uint32_t i = 0; i < p.num_outputs; ++i) {
        if (p.ids[i] == expert) p.outputs[place++] = i;
    }
}

HOKKU_KERNEL(combine_experts, CombineExpertsParams, 256) {
    wait_for_primary();
    allow_dependents();
    const uint64_t row = block_y();
    float share = 1.0f;
    if (p.shared_gate != nullptr) share = 1.0f / (1.0f + exp_f(-p.shared_gate[row]));
    for (uint32_t i = block_x() * num_threads() + thread_id(); i < p.n;
         i += grid_x() * num_threads()) {
        float sum = 0;
        for (uint32_t j = 0; j < p.num_used; ++j) {
            sum =
                fma_f(p.weights[row * p.num_used + j], p.y[(row * p.num_used + j) * p.n + i], sum);
        }
        if (p.shared != nullptr) sum = fma_f(share, p.shared[row * p.n + i], sum);
        p.out[row * p.n + i] = p.residual != nullptr ? p.residual[row * p.n + i] + sum : sum;
    }
}

}  // namespace hokku::cuda
