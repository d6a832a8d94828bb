// SPDX-License-Identifier: Apache-2.0
#include "plugin/context_memory.h"

#include <algorithm>
#include <cmath>

#include "base/try.h"

namespace hokku::cuda {

uint32_t max_prefill_rows(const BackendOptions& options) {
    return std::clamp(options.max_step_tokens, kMaxRows, kPrefillRows);
}

Result<ContextMemory> ContextMemory::create(const Gpu& gpu, const ModelSpec& spec,
                                            const BackendOptions& options, uint32_t num_blocks) {
    ContextMemory context;
    HOKKU_TRY(context.kv, KvMemory::create(gpu, spec, options.kv_type, num_blocks));
    HOKKU_TRY(context.memory,
              gpu.allocate(context.lay_out(0, context.inputs, spec, options, true), "step inputs"));
    HOKKU_TRY(context.staging,
              gpu.allocate_pinned(context.lay_out(0, context.host_inputs, spec, options, false),
                                  "step inputs"));
    context.lay_out(context.staging.address(), context.host_inputs, spec, options, false);
    context.lay_out(context.memory.address(), context.inputs, spec, options, true);
    HOKKU_CHECK(context.fill_rope_tables(gpu, spec, options));
    return context;
}

size_t ContextMemory::lay_out(DevicePointer base, StepInput* to, const ModelSpec& spec,
                              const BackendOptions& options, bool has_tables) {
    GpuLayout layout(base);
    const uint32_t num_blocks = kv.num_blocks();
    for (uint32_t i = 0; i < kNumInputs; ++i) {
        const size_t before = layout.used_bytes();
        const uint32_t rows = i == kPrefillInput ? max_prefill_rows(options) : 1u << i;
        to[i] = StepInput::lay_out(layout, rows, num_blocks, spec.dim);
        input_bytes[i] = layout.used_bytes() - before;
    }
    if (has_tables) {
        rope_tables.clear();
        for (const RopeSpec& rope : spec.ropes) {
            rope_tables.push_back(
                layout.take<float>(size_t{num_blocks} * kKvBlockTokens * rope.num_dims));
        }
    }
    return layout.used_bytes();
}

/// Angles as the CPU has them.
Result<void> ContextMemory::fill_rope_tables(const Gpu& gpu, const ModelSpec& spec,
                                             const BackendOptions& options) const {
    const uint32_t num_positions = kv.num_blocks() * kKvBlockTokens;
    const uint32_t length = options.context_tokens > 0 ? options.context_tokens
                                                       : options.num_kv_blocks * kKvBlockTokens;
    std::vector<float> table;
    for (size_t r = 0; r < spec.ropes.size(); ++r) {
        const RopeSpec& rope = spec.ropes[r];
        const bool is_long = !rope.long_inv_freq.empty() && length > rope.long_above_context;
        const std::vector<float>& inv_freq = is_long ? rope.long_inv_freq : rope.inv_freq;
        const size_t half = rope.num_dims / 2;
        table.resize(size_t{num_positions} * rope.num_dims);
        for (uint32_t position = 0; position < num_positions; ++position) {
            float* row = table.data() + size_t{position} * rope.num_dims;
            for (size_t i = 0; i < half; ++i) {
                const float angle = static_cast<float>(position) * inv_freq[i];
                row[i] = std::cos(angle) * rope.magnitude;
                row[half + i] = std::sin(angle) * rope.magnitude;
            }
        }
        if (table.empty()) continue;
        HOKKU_CHECK(
            gpu.check(gpu.api().copy_to_device(reinterpret_cast<DevicePointer>(rope_tables[r]),
                                               table.data(), table.size() * sizeof(float)),
                      "cuMemcpyHtoD_v2"));
    }
    return {};
}

// ---- inputs ------------------------------------------------------------------------------------

Result<void> ContextMemory::copy_bucket(const Gpu& gpu, uint32_t bucket) const {
    return gpu.check(gpu.api().copy_to_device_async(
                         reinterpret_cast<DevicePointer>(inputs[bucket].positions),
                         host_inputs[bucket].positions, input_bytes[bucket], gpu.stream()),
                     "cuMemcpyHtoDAsync_v2");
}

Result<void> ContextMemory::copy_prefill(const Gpu& gpu, uint32_t num_rows, uint32_t num_sequences,
                                         uint32_t dim) const {
    const auto copy = [&](auto* to, const auto* from, size_t count) {
        return gpu.check(gpu.api().copy_to_device_async(reinterpret_cast<DevicePointer>(to), from,
                                                        count * sizeof *from, gpu.stream()),
                         "cuMemcpyHtoDAsync_v2");
    };
    const StepInput &to = inputs[kPrefillInput], &from = host_inputs[kPrefillInput];
    HOKKU_CHECK(copy(to.positions, from.positions, num_rows));
    HOKKU_CHECK(copy(to.row_bounds, from.row_bounds, num_sequences + 1));
    HOKKU_CHECK(copy(to.tables, from.tables, size_t{num_rows} * kv.num_blocks()));
    return copy(to.x, from.x, size_t{num_rows} * dim);
}

}  // namespace hokku::cuda
