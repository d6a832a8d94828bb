// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hokku::cpu {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void softmax(float* x, uint32_t n) {
    const float max = *std::max_element(x, x + n);
    float sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += x[i] = std::exp(x[i] - max);
    for (uint32_t i = 0; i < n; ++i) x[i] /= sum;
}

/// Sum of the two best scores of a group: how DeepSeek-V3 ranks groups.
float group_score(const float* scores, const float* bias, uint32_t begin, uint32_t end) {
    float first = kNever, second = kNever;
    for (uint32_t i = begin; i < end; ++i) {
        const float score = scores[i] + (bias ? bias[i] : 0.0f);
        if (score > first) {
            second = first;
            first = score;
        } else if (score > second) {
            second = score;
        }
    }
    return end - begin == 1 ? first : first + second;
}

/// Whether fewer than num_groups_used groups are better than `group` (earlier ones win ties).
bool is_used_group(const ExpertSpec& spec, const float* scores, const float* bias, uint32_t group) {
    const uint32_t size = spec.num_experts / spec.num_groups;
    const auto score_of = [&](uint32_t g) {
        return group_score(scores, bias, g * size, (g + 1) * size);
    };
    const float score = score_of(group);
    uint32_t better = 0;
    for (uint32_t g = 0; g < spec.num_groups; ++g) {
        const float other = score_of(g);
        better += other > score || (other == score && g < group) ? 1 : 0;
    }
    return better < spec.num_groups_used;
}

}  // namespace

void choose_experts(const ExpertSpec& spec, float* scores, const float* selection_bias,
                    uint32_t* chosen, float* weights) {
    const uint32_t n = spec.num_experts;
    if (spec.gating == Gating::softmax) softmax(scores, n);
    if (spec.gating == Gating::sigmoid)
        for (uint32_t i = 0; i < n; ++i) scores[i] = 1.0f / (1.0f + std::exp(-scores[i]));

    const uint32_t group_size = n / spec.num_groups;
    for (uint32_t j = 0; j < spec.num_used; ++j) {
        uint32_t best = n;
        float best_score = kNever;
        for (uint32_t group = 0; group < spec.num_groups; ++group) {
            if (spec.num_groups > 1 && !is_used_group(spec, scores, selection_bias, group))
                continue;
            for (uint32_t i = group * group_size; i < (group + 1) * group_size; ++i) {
                const float score = scores[i] + (selection_bias ? selection_bias[i] : 0.0f);
                const bool is_taken = std::find(chosen, chosen + j, i) != chosen + j;
                // The first candidate is taken whatever its score, so that NaN finds experts too.
                if (!is_taken && (best == n || score > best_score)) {
                    best = i;
                    best_score = score;
                }
            }
        }
        chosen[j] = best;
        weights[j] = scores[best];
    }

    if (spec.gating == Gating::softmax_chosen) softmax(weights, spec.num_used);
    float factor = spec.weight_scale;
    if (spec.renormalise) {
        float sum = 0;
        for (uint32_t j = 0; j < spec.num_used; ++j) sum += weights[j];
        sum = std::max(sum, spec.min_weight_sum);
        if (sum > 0) factor /= sum;
    }
    for (uint32_t j = 0; j < spec.num_used; ++j) weights[j] *= factor;
}

}  // namespace hokku::cpu
