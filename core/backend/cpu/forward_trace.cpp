// SPDX-License-Identifier: Apache-2.0
// Traces of a step: inner values of its last row, handed out by the owning thread while the other
// lanes wait. Without a trace none of this runs.
#include <algorithm>
#include <string>
#include <vector>

#include "backend/cpu/forward.h"

namespace hokku::cpu {

bool Forward::traces_stages() const {
    return step_.trace != nullptr && step_.trace->stages;
}

std::string Forward::layer_name() const {
    return "layer" + std::to_string(spec_.part.first_layer + layer_);
}

void Forward::trace(std::string_view name, const float* values, size_t n) const {
    if (step_.trace == nullptr) return;
    lane_.barrier();
    if (leads())
        step_.trace->on_values(name.empty() ? layer_name() : std::string(name), {values, n});
    lane_.barrier();
}

void Forward::trace_stage(std::string_view name, const float* values, size_t n) const {
    if (!traces_stages()) return;
    trace(layer_name() + "." + std::string(name), values, n);
}

/// The heads of all ranks, in the original order: where the converter interleaved a head's rows,
/// value i of the first half lies at 2i and of the second at 2i + 1.
void Forward::trace_heads(std::string_view name, const float* heads, HeadKind kind,
                          uint32_t head_dim, bool is_permuted) const {
    if (!traces_stages()) return;
    const bool is_query = kind == HeadKind::query;
    const ShardRange own = is_query ? share().heads : share().kv_heads;
    const uint32_t num_all = is_query ? share().num_all_heads : share().num_all_kv_heads;
    std::vector<float> whole(size_t{num_all} * head_dim);
    lane_.barrier();
    if (others_) {
        const bool counts = is_query || share().owns_kv;
        others_->all_gather({.part = heads,
                             .rows = 1,
                             .cols = counts ? own.size() * head_dim : 0,
                             .first_col = own.begin * head_dim,
                             .whole = leads() ? whole.data() : nullptr,
                             .whole_cols = num_all * head_dim});
    } else {
        std::copy_n(heads, whole.size(), whole.data());
    }
    if (is_permuted) {
        const std::vector<float> stored = whole;
        const size_t half = head_dim / 2;
        for (size_t first = 0; first < whole.size(); first += head_dim) {
            for (size_t i = 0; i < head_dim; ++i)
                whole[first + i] = stored[first + (i < half ? 2 * i : 2 * (i - half) + 1)];
        }
    }
    trace_stage(name, whole.data(), whole.size());
}

}  // namespace hokku::cpu
