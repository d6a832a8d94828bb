// SPDX-License-Identifier: Apache-2.0
// What a trace is told of a step, under the CPU's names.
#include <fmt/format.h>

#include "plugin/gpu_forward.h"

namespace hokku::cuda {

namespace {

/// Of heads whose rows the converter interleaved, in their original order.
std::vector<float> restore_pairs(const std::vector<float>& stored, size_t head_dim) {
    std::vector<float> out(stored.size());
    const size_t half = head_dim / 2;
    for (size_t first = 0; first < stored.size(); first += head_dim) {
        for (size_t i = 0; i < head_dim; ++i)
            out[first + i] = stored[first + (i < half ? 2 * i : 2 * (i - half) + 1)];
    }
    return out;
}

}  // namespace

std::string GpuForward::layer_name(uint32_t index) const {
    return fmt::format("layer{}", spec_.part.first_layer + index);
}

void GpuForward::trace_values(const GpuStep& step, const std::string& name, const float* values,
                              size_t stride, size_t n, uint32_t head_dim) {
    if (step.trace == nullptr) return;
    for (uint32_t i = 0; i < step.trace->num_rows; ++i) {
        std::vector<float> out = launcher_.download(values + (step.trace->row + i) * stride, n);
        if (head_dim > 0) out = restore_pairs(out, head_dim);
        if (launcher_.is_ok()) step.trace->on_values(name, out);
    }
}

void GpuForward::trace_stage(const GpuStep& step, uint32_t index, std::string_view name,
                             const float* values, size_t stride, size_t n, uint32_t head_dim) {
    if (step.trace == nullptr || !step.trace->stages) return;
    trace_values(step, fmt::format("{}.{}", layer_name(index), name), values, stride, n, head_dim);
}

/// Rotated keys lie in the cache alone.
void GpuForward::trace_key(const GpuStep& step, uint32_t index, const AttentionSpec& spec) {
    if (step.trace == nullptr || !step.trace->stages || !launcher_.is_ok()) return;
    launcher_.fail(gpu_.api().stream_synchronize(gpu_.stream()), "cuStreamSynchronize");
    if (!launcher_.is_ok()) return;
    auto key =
        step.kv.read_key(gpu_, index, step.trace->block, step.trace->position % kKvPositions);
    if (!key.ok()) return launcher_.fail(DriverResult::unknown, "cuMemcpyDtoH_v2");
    step.trace->on_values(layer_name(index) + ".k_rope",
                          spec.is_permuted ? restore_pairs(*key, spec.key_dim) : *key);
}

}  // namespace hokku::cuda
