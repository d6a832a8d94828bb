// SPDX-License-Identifier: Apache-2.0
// Attention of a layer: from its normed input to what the output product takes.
#include <algorithm>

#include "plugin/gpu_forward.h"

namespace hokku::cuda {

void GpuForward::run_attention(const GpuStep& step, uint32_t index,
                               const QuantizedVectors& normed) {
    const AttentionSpec& spec = *spec_.layers[index].attention();
    run_qkv(step, index, normed);

    // attn_mix
    const GpuMatrix* user[] = {&weights_.layers[index].o};
    const uint32_t mix = spec.num_heads * spec.value_dim;
    const QuantizedVectors out = vectors_for(step, step.buffers.attended, mix, user);
    if (step.rows.is_prefill() && !flash_.empty()) return attend_flash(step, index, out);
    for (uint32_t first = 0; first < step.rows.count; first += kMaxRows) {
        const uint32_t count = std::min(kMaxRows, step.rows.count - first);
        attend_splits(step, index, rows_of(out, first, count), first);
    }
}

/// q, k, v, their norms and rotations, and keys and values into the cache.
void GpuForward::run_qkv(const GpuStep& step, uint32_t index, const QuantizedVectors& normed) {
    const AttentionSpec& spec = *spec_.layers[index].attention();
    const GpuLayer& layer = weights_.layers[index];
    float* qkv = step.buffers.qkv;
    const uint32_t stride = qkv_size(spec), q_size = spec.num_heads * spec.key_dim;
    const uint32_t k_size = spec.num_kv_heads * spec.key_dim;
    const RopeParams rope = rope_params(step, index);
    const bool is_fused = step.is_fused() && layer.has_fused_qkv;
    uint32_t row = 0;
    for (const GpuMatrix& matrix : layer.qkv) {
        const Output output{.residual = nullptr, .out = qkv + row, .stride = stride};
        if (is_fused) {
            const QkvParams params{gemv_params(matrix, normed, output), rope, row,
                                   step.buffers.counters};
            launcher_.launch(matrix.qkv, gemv_size(matrix), params);
        } else {
            multiply(step, matrix, normed, output);
        }
        row += matrix.rows;
    }
    if (is_fused) return;
    const uint32_t permuted = spec.is_permuted ? spec.key_dim : 0;
    trace_stage(step, index, "q", qkv, stride, q_size, permuted);
    trace_stage(step, index, "k", qkv + q_size, stride, k_size, permuted);
    trace_stage(step, index, "v", qkv + q_size + k_size, stride,
                size_t{spec.num_kv_heads} * spec.value_dim);
    if (spec.qk_norm == QkNorm::whole) {
        norm_whole(step, layer.q_norm, qkv, q_size, stride);
        norm_whole(step, layer.k_norm, qkv + q_size, k_size, stride);
    }
    launcher_.launch(rope_append_,
                     {.grid_x = spec.num_heads + 2 * spec.num_kv_heads, .grid_y = step.rows.count},
                     rope);
    trace_stage(step, index, "q_rope", qkv, stride, q_size, permuted);
    trace_key(step, index, spec);
}

/// Over all heads together, in place.
void GpuForward::norm_whole(const GpuStep& step, const GpuNorm& norm, float* heads, uint32_t n,
                            uint32_t stride) {
    launcher_.launch(norm_add_, {.grid_x = step.rows.count, .num_threads = 256},
                     norm_params_of(norm, heads, n, stride));
}

RopeParams GpuForward::rope_params(const GpuStep& step, uint32_t index) const {
    const AttentionSpec& spec = *spec_.layers[index].attention();
    const GpuLayer& layer = weights_.layers[index];
    const GpuNorm none;
    const bool has_norm = spec.qk_norm != QkNorm::none && spec.qk_norm != QkNorm::whole;
    const GpuNorm& q_norm = has_norm ? layer.q_norm : none;
    const GpuNorm& k_norm = has_norm ? layer.k_norm : none;
    RopeParams params{.qkv = step.buffers.qkv,
                      .positions = step.input.positions,
                      .cos_sin = nullptr,
                      .q_norm = q_norm.weight,
                      .k_norm = k_norm.weight,
                      .kv = step.kv.pool(index, step.input.tables),
                      .num_heads = spec.num_heads,
                      .num_dims = 0,
                      .is_interleaved = 0,
                      .eps = spec_.norm_eps,
                      .q_norm_bias = q_norm.bias,
                      .k_norm_bias = k_norm.bias,
                      .norm_stride = spec.qk_norm == QkNorm::per_head_own ? spec.key_dim : 0,
                      .norm_kind = norm_kind(spec_, q_norm),
                      .is_norm_last = spec.qk_norm_after_rope ? 1u : 0u,
                      .temperature_span = spec.temperature_span,
                      .temperature = spec.temperature};
    if (spec.rope_index >= 0) {
        const auto rope = static_cast<size_t>(spec.rope_index);
        params.cos_sin = step.buffers.rope_tables[rope];
        params.num_dims = spec_.ropes[rope].num_dims;
        params.is_interleaved = spec_.ropes[rope].pairing == RopePairing::interleaved ? 1u : 0u;
    }
    return params;
}

/// Of up to kMaxRows rows from first_row on.
void GpuForward::attend_splits(const GpuStep& step, uint32_t index, const QuantizedVectors& out,
                               uint32_t first_row) {
    const AttentionSpec& spec = *spec_.layers[index].attention();
    const GpuBuffers& buffers = step.buffers;
    const uint32_t stride = qkv_size(spec), group = spec.num_heads / spec.num_kv_heads;
    const uint32_t heads = ceil_div(group, ceil_div(group, kMaxAttentionHeads));
    const uint32_t num_splits = step.kv.num_splits();
    KvPool kv = step.kv.pool(index, step.input.tables);
    kv.tables += size_t{first_row} * kv.max_blocks;
    NextWeights next;
    if (!step.rows.is_prefill())
        next = next_weights(weights_.layers[index].o, gpu_.prefetch_bytes());
    launcher_.launch(attention_[heads - 1],
                     {.grid_x = spec.num_kv_heads * ceil_div(group, heads),
                      .grid_y = num_splits,
                      .grid_z = out.num_vectors,
                      .num_threads = 128},
                     AttentionParams{.q = buffers.qkv + size_t{first_row} * stride,
                                     .positions = step.input.positions + first_row,
                                     .kv = kv,
                                     .sums = buffers.sums,
                                     .maxima = buffers.maxima,
                                     .weights = buffers.weights,
                                     .q_stride = stride,
                                     .num_heads = spec.num_heads,
                                     .split_positions = step.kv.split_positions(),
                                     .window = spec.window,
                                     .scale = spec.scale,
                                     .softcap = spec.logit_softcap,
                                     .next = next});
    launcher_.launch(
        attention_combine_,
        {.grid_x = ceil_div(out.groups, 4), .grid_y = out.num_vectors, .num_threads = 128},
        CombineParams{buffers.sums, buffers.maxima, buffers.weights, weights_.layers[index].sinks,
                      out, spec.num_heads, num_splits, spec.value_dim});
}

/// Of whole sequences, on tensor cores.
void GpuForward::attend_flash(const GpuStep& step, uint32_t index, const QuantizedVectors& out) {
    const AttentionSpec& spec = *spec_.layers[index].attention();
    const uint32_t queries = step.rows.longest * (spec.num_heads / spec.num_kv_heads);
    const auto shared_bytes = [&](uint32_t num_warps) {
        return flash_shared_bytes(spec.key_dim, spec.value_dim, num_warps);
    };
    uint32_t warps = std::min(kFlashMaxWarps, ceil_div(queries, 16));
    while (warps > 1 && shared_bytes(warps) > gpu_.max_shared_bytes_per_block()) --warps;
    const uint32_t largest = std::max(spec.key_dim, spec.value_dim);
    const size_t kernel = largest <= 64 ? 0 : largest <= 128 ? 1 : 2;
    float* values = step.buffers.attended.all.values;
    const uint32_t out_stride = out.groups * kGroup;
    launcher_.launch(flash_[kernel],
                     {.grid_x = ceil_div(queries, 16 * warps),
                      .grid_y = spec.num_kv_heads,
                      .grid_z = step.rows.num_sequences,
                      .num_threads = 32 * warps,
                      .shared_bytes = shared_bytes(warps)},
                     FlashParams{.q = step.buffers.qkv,
                                 .positions = step.input.positions,
                                 .row_bounds = step.input.row_bounds,
                                 .kv = step.kv.pool(index, step.input.tables),
                                 .sinks = weights_.layers[index].sinks,
                                 .out = values,
                                 .q_stride = qkv_size(spec),
                                 .out_stride = out_stride,
                                 .num_heads = spec.num_heads,
                                 .window = spec.window,
                                 .scale = spec.scale,
                                 .softcap = spec.logit_softcap});
    if (out.codes == nullptr) return;
    QuantizedVectors codes = out;
    codes.values = nullptr;
    launcher_.launch(
        quantize_rows_,
        {.grid_x = ceil_div(out.groups, 8), .grid_y = step.rows.count, .num_threads = 256},
        QuantizeParams{values, codes, spec.num_heads * spec.value_dim, out_stride});
}

}  // namespace hokku::cuda
