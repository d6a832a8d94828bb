// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_buffers.h"

#include <algorithm>

#include "base/round_up.h"
#include "plugin/kv_memory.h"

namespace hokku::cuda {

uint32_t qkv_size(const AttentionSpec& spec) {
    return (spec.num_heads + spec.num_kv_heads) * spec.key_dim + spec.num_kv_heads * spec.value_dim;
}

namespace {

/// Values between the products of an FFN, of all experts of a row together.
size_t hidden_of_row(const FfnSpec& ffn) {
    if (!ffn.experts) return ffn.hidden;
    const ExpertSpec& experts = *ffn.experts;
    const size_t rounded = (experts.hidden + kGroup - 1) / kGroup * kGroup;
    return std::max(rounded * experts.num_used, size_t{experts.shared_hidden});
}

}  // namespace

StepInput StepInput::lay_out(GpuLayout& layout, uint32_t rows, uint32_t max_blocks, uint32_t dim) {
    StepInput input;
    input.positions = layout.take<uint32_t>(rows);
    if (rows > kMaxRows) input.row_bounds = layout.take<uint32_t>(rows + 1);
    input.tables = layout.take<uint32_t>(size_t{rows} * max_blocks);
    input.x = layout.take<float>(size_t{rows} * dim);
    return input;
}

GpuVectors GpuVectors::lay_out(GpuLayout& layout, uint32_t n, uint32_t max_rows) {
    const uint32_t groups = (n + kGroup - 1) / kGroup;
    const size_t count = size_t{max_rows} * groups;
    GpuVectors out;
    out.all.codes = layout.take<int8_t>(count * kGroup);
    out.all.scales = layout.take<GroupScale>(count);
    out.all.values = layout.take<float>(count * kGroup);
    out.all.groups = groups;
    return out;
}

GpuBuffers GpuBuffers::lay_out(GpuLayout& layout, const ModelSpec& spec, uint32_t max_rows,
                               const BlasNeeds& blas) {
    if (blas.is_used) max_rows = ceil_div(max_rows, kBlasRows) * kBlasRows;
    size_t qkv = 0, mix = 0, heads = 0, hidden = 0;
    GpuBuffers out;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = *layer.attention();
        qkv = std::max<size_t>(qkv, qkv_size(attention));
        mix = std::max(mix, size_t{attention.num_heads} * attention.value_dim);
        heads = std::max<size_t>(heads, attention.num_heads);
        hidden = std::max(hidden, hidden_of_row(layer.ffn));
        out.num_counters =
            std::max(out.num_counters, attention.num_heads + 2 * attention.num_kv_heads + 1);
    }
    const size_t rows = max_rows;
    out.qkv = layout.take<float>(rows * qkv);
    out.sums = layout.take<float>(kMaxRows * mix * kMaxSplits);
    out.maxima = layout.take<float>(kMaxRows * heads * kMaxSplits);
    out.weights = layout.take<float>(kMaxRows * heads * kMaxSplits);
    out.gate = layout.take<float>(rows * hidden);
    out.up = layout.take<float>(rows * hidden);
    out.delta = layout.take<float>(rows * spec.dim);
    if (spec.part.is_last) out.lay_out_logits(layout, spec.num_vocab);
    out.counters = layout.take<uint32_t>(out.num_counters);
    out.normed = GpuVectors::lay_out(layout, spec.dim, max_rows);
    out.ffn_normed = GpuVectors::lay_out(layout, spec.dim, max_rows);
    out.attended = GpuVectors::lay_out(layout, static_cast<uint32_t>(mix), max_rows);
    out.activated = GpuVectors::lay_out(layout, static_cast<uint32_t>(hidden), max_rows);
    out.lay_out_experts(layout, spec, max_rows);
    if (blas.is_used) out.lay_out_blas(layout, max_rows, blas);
    return out;
}

void GpuBuffers::lay_out_logits(GpuLayout& layout, uint32_t num_vocab) {
    logits = layout.take<float>(size_t{kMaxRows} * num_vocab);
    const size_t num_best = size_t{kMaxRows} * kNumBest;
    const size_t num_of_chunks = num_best * ceil_div(num_vocab, kBestChunk);
    chunk_values = layout.take<float>(num_of_chunks);
    chunk_ids = layout.take<uint32_t>(num_of_chunks);
    best_values = layout.take<float>(num_best);
    best_ids = layout.take<uint32_t>(num_best);
}

void GpuBuffers::lay_out_blas(GpuLayout& layout, uint32_t max_rows, const BlasNeeds& blas) {
    blas_workspace = layout.take<std::byte>(kBlasWorkspaceBytes);
    if (blas.max_cols > 0) {
        const size_t values = size_t{max_rows} * blas.max_cols;
        blas_high = layout.take<uint16_t>(values);
        blas_low = layout.take<uint16_t>(values);
        blas_scales = layout.take<float>(max_rows);
    }
    if (blas.matrix_values > 0) blas_weights = layout.take<uint16_t>(blas.matrix_values);
}

void GpuBuffers::lay_out_experts(GpuLayout& layout, const ModelSpec& spec, uint32_t max_rows) {
    size_t num_experts = 0, num_used = 0;
    bool has_shared = false;
    for (const LayerSpec& layer : spec.layers) {
        if (!layer.ffn.experts) continue;
        num_experts = std::max<size_t>(num_experts, layer.ffn.experts->num_experts);
        num_used = std::max<size_t>(num_used, layer.ffn.experts->num_used);
        has_shared |= layer.ffn.experts->shared_hidden > 0;
    }
    if (num_experts == 0) return;
    const size_t rows = max_rows;
    router_logits = layout.take<float>(rows * num_experts);
    expert_weights = layout.take<float>(rows * num_used);
    expert_ids = layout.take<uint32_t>(rows * num_used);
    expert_outputs = layout.take<uint32_t>(rows * num_used);
    expert_bounds = layout.take<uint32_t>(num_experts + 1);
    expert_out = layout.take<float>(rows * num_used * spec.dim);
    if (has_shared) shared_out = layout.take<float>(rows * spec.dim);
    shared_gate = layout.take<float>(rows);
}

QuantizedVectors rows_of(const QuantizedVectors& vectors, uint32_t first, uint32_t count) {
    QuantizedVectors out = vectors;
    const size_t groups = size_t{first} * vectors.groups;
    if (out.codes != nullptr) out.codes += groups * kGroup;
    out.scales += groups;
    if (out.values != nullptr) out.values += groups * kGroup;
    out.num_vectors = count;
    return out;
}

}  // namespace hokku::cuda
