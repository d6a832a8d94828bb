// SPDX-License-Identifier: Apache-2.0
// Traces of a step: inner values of its last row, handed out by the owning thread while the other
// lanes wait. Without a trace none of this runs.
#include <string>
#include <vector>

#include "backend/cpu/forward.h"

namespace hokku::cpu {

bool Forward::traces_stages() const {
    return step_.trace != nullptr && step_.trace->stages;
}

void Forward::trace(std::string_view name, const float* values, size_t n) const {
    if (step_.trace == nullptr) return;
    lane_.barrier();
    if (lane_.index == 0)
        step_.trace->on_values(name.empty() ? "layer" + std::to_string(layer_) : std::string(name),
                               {values, n});
    lane_.barrier();
}

void Forward::trace_stage(std::string_view name, const float* values, size_t n) const {
    if (!traces_stages()) return;
    trace("layer" + std::to_string(layer_) + "." + std::string(name), values, n);
}

/// Heads in the original order: where the converter interleaved a head's rows, value i of the
/// first half lies at 2i and of the second at 2i + 1.
void Forward::trace_heads(std::string_view name, const float* heads, uint32_t num_heads,
                          uint32_t head_dim, bool is_permuted) const {
    if (!traces_stages()) return;
    const size_t n = size_t{num_heads} * head_dim;
    if (!is_permuted) return trace_stage(name, heads, n);
    lane_.barrier();
    std::vector<float> original(n);
    const size_t half = head_dim / 2;
    for (size_t head = 0; head < num_heads; ++head) {
        for (size_t i = 0; i < head_dim; ++i) {
            const size_t from = i < half ? 2 * i : 2 * (i - half) + 1;
            original[head * head_dim + i] = heads[head * head_dim + from];
        }
    }
    trace_stage(name, original.data(), n);
}

}  // namespace hokku::cpu
