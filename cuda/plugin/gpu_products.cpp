// SPDX-License-Identifier: Apache-2.0
// Products with weights, and the branches of a layer that end with one.
#include <algorithm>
#include <string>
#include <vector>

#include "plugin/gpu_forward.h"

namespace hokku::cuda {

namespace {

uint32_t activation_of(hokku::Activation activation) {
    switch (activation) {
        case hokku::Activation::gelu_tanh:
            return kGeluTanh;
        case hokku::Activation::gelu_erf:
            return kGeluErf;
        case hokku::Activation::relu_squared:
            return kReluSquared;
        case hokku::Activation::swiglu_clamped:
            return kSwigluClamped;
        case hokku::Activation::xielu:
            return kXielu;
        default:
            return kSilu;
    }
}

}  // namespace

void GpuForward::multiply(const GpuStep& step, const GpuMatrix& matrix, const QuantizedVectors& x,
                          const Output& output) {
    if (step.rows.is_prefill()) {
        multiply_many(step, matrix, x, output);
    } else if (output.next != nullptr && step.is_fused() && matrix.gemv_norm != nullptr) {
        const GemvParams product = gemv_params(matrix, x, output);
        GemvNormParams params{product, *output.next,
                              step.buffers.counters + step.buffers.num_counters - 1};
        params.has_add = output.add != nullptr ? 1 : 0;
        if (output.add != nullptr) params.add = *output.add;
        launcher_.launch(matrix.gemv_norm, gemv_size(matrix), params);
        return;
    } else {
        multiply_few(matrix, x, output);
    }
    finish(output, x.num_vectors);
}

/// What follows a product that is not fused with it.
void GpuForward::finish(const Output& output, uint32_t num_rows) {
    if (output.add != nullptr)
        launcher_.launch(norm_add_, {.grid_x = num_rows, .num_threads = 256}, *output.add);
    if (output.next != nullptr) norm(*output.next);
}

LaunchSize GpuForward::gemv_size(const GpuMatrix& matrix) {
    const uint32_t rows_of_block = 8 / matrix.warps_per_row * (matrix.is_float ? 1 : 2);
    return {.grid_x = ceil_div(matrix.rows, rows_of_block),
            .num_threads = 256,
            .format = matrix.persistent_format};
}

GemvParams GpuForward::gemv_params(const GpuMatrix& matrix, const QuantizedVectors& x,
                                   const Output& output) {
    return {.weight = matrix.planes,
            .x = x,
            .bias = matrix.bias,
            .residual = output.residual,
            .out = output.out,
            .out_stride = output.stride,
            .warps_per_row = matrix.warps_per_row};
}

FloatGemvParams GpuForward::float_gemv_params(const GpuMatrix& matrix, const QuantizedVectors& x,
                                              const Output& output) {
    return {.weight = matrix.data,
            .x = x.values,
            .bias = matrix.bias,
            .residual = output.residual,
            .out = output.out,
            .rows = matrix.rows,
            .cols = matrix.cols,
            .x_stride = x.groups * kGroup,
            .out_stride = output.stride,
            .num_vectors = x.num_vectors,
            .warps_per_row = matrix.warps_per_row};
}

GemmParams GpuForward::gemm_params(const GpuMatrix& matrix, const QuantizedVectors& x,
                                   const Output& output) {
    return {.weight = matrix.planes,
            .x = x,
            .bias = matrix.bias,
            .residual = output.residual,
            .out = output.out,
            .out_stride = output.stride};
}

/// Of up to kMaxRows vectors.
void GpuForward::multiply_few(const GpuMatrix& matrix, const QuantizedVectors& x,
                              const Output& output) {
    FunctionHandle kernel = matrix.kernels[bucket_of(x.num_vectors)];
    if (matrix.is_float) {
        launcher_.launch(kernel, gemv_size(matrix), float_gemv_params(matrix, x, output));
    } else {
        launcher_.launch(kernel, gemv_size(matrix), gemv_params(matrix, x, output));
    }
}

/// Of the rows of prompts. Without a library weights that are not quantised are multiplied by
/// kMaxRows at a time.
void GpuForward::multiply_many(const GpuStep& step, const GpuMatrix& matrix,
                               const QuantizedVectors& x, const Output& output) {
    if (is_by_library(matrix)) return multiply_by_library(step, matrix, x, output);
    if (!matrix.is_float) {
        launcher_.launch(matrix.gemm,
                         {.grid_x = ceil_div(x.num_vectors, kGemmVectors),
                          .grid_y = ceil_div(matrix.rows, kGemmRows),
                          .num_threads = 256},
                         gemm_params(matrix, x, output));
        return;
    }
    for (uint32_t first = 0; first < x.num_vectors; first += kMaxRows) {
        const uint32_t count = std::min(kMaxRows, x.num_vectors - first);
        const size_t offset = size_t{first} * output.stride;
        multiply_few(matrix, rows_of(x, first, count),
                     {.residual = output.residual != nullptr ? output.residual + offset : nullptr,
                      .out = output.out + offset,
                      .stride = output.stride});
    }
}

/// By what multiply_many() and run_attention() ask.
std::string GpuForward::prefill_kernels() const {
    bool has_own = false, has_library = false, has_few = false;
    for (const GpuLayer& layer : weights_.layers) {
        std::vector<const GpuMatrix*> matrices = {&layer.o,    &layer.gate,   &layer.up,
                                                  &layer.down, &layer.router, &layer.shared_router};
        for (const GpuMatrix& matrix : layer.qkv) matrices.push_back(&matrix);
        for (const GpuMatrix* matrix : matrices) {
            if (!*matrix) continue;
            const bool is_by_own = !is_by_library(*matrix);
            has_library |= !is_by_own;
            (matrix->is_float ? has_few : has_own) |= is_by_own;
        }
        const GpuMatrix& experts = layer.expert_up.matrix;
        if (experts) (experts.is_float ? has_few : has_own) = true;
    }
    std::string text = ", prompts";
    if (has_own) text += " by int8 kernels";
    if (has_library) text += has_own ? " and cuBLAS" : " by cuBLAS";
    if (has_library && products_ == PrefillProducts::reference) text += " as reference";
    if (has_few) text += blas_ != nullptr ? " and eight rows at a time" : " without cuBLAS";
    return text + (flash_.empty() ? ", attention of eight rows" : ", flash attention");
}

void GpuForward::run_ffn(const GpuStep& step, uint32_t index, const QuantizedVectors& input) {
    const FfnSpec& spec = spec_.layers[index].ffn;
    if (spec.experts) return run_experts(step, index, input);
    const GpuLayer& layer = weights_.layers[index];
    const QuantizedVectors out = activate_products(step, index, spec.hidden, input);
    add_branch(step, {layer.ffn_post_norm, "ffn_out", index, norm_behind(step, index)},
               [&](const Output& output) { multiply(step, layer.down, out, output); });
}

/// activation(gate x) * (up x), for the product of down.
QuantizedVectors GpuForward::activate_products(const GpuStep& step, uint32_t index, uint32_t hidden,
                                               const QuantizedVectors& input) {
    const FfnSpec& spec = spec_.layers[index].ffn;
    const GpuLayer& layer = weights_.layers[index];
    const GpuBuffers& buffers = step.buffers;
    const GpuMatrix* user[] = {&layer.down};
    const QuantizedVectors out = vectors_for(step, buffers.activated, hidden, user);
    if (layer.has_fused_gate && !step.rows.is_prefill()) {
        launcher_.launch(layer.gated_kernels[bucket_of(step.rows.count)],
                         {.grid_x = ceil_div(hidden, kGroup),
                          .num_threads = 256,
                          .format = layer.gate.persistent_format},
                         GatedGemvParams{layer.gate.planes, layer.up.planes, input, layer.gate.bias,
                                         layer.up.bias, out, activation_of(spec.activation)});
        return out;
    }
    // Without a gate the activation is of up itself, which then takes gate's place.
    if (spec.gated) multiply(step, layer.gate, input, {nullptr, buffers.gate, hidden});
    multiply(step, layer.up, input, {nullptr, spec.gated ? buffers.up : buffers.gate, hidden});
    activate(step, spec, hidden, out);
    return out;
}

/// What the products of gate and up have left.
void GpuForward::activate(const GpuStep& step, const FfnSpec& spec, uint32_t hidden,
                          const QuantizedVectors& out) {
    const XieluParams xielu{spec.xielu.alpha_n, spec.xielu.alpha_p, spec.xielu.beta,
                            spec.xielu.eps};
    launcher_.launch(
        activate_quantize_,
        {.grid_x = ceil_div(out.groups, 8), .grid_y = out.num_vectors, .num_threads = 256},
        ActivateParams{step.buffers.gate, spec.gated ? step.buffers.up : nullptr, out, hidden,
                       hidden, activation_of(spec.activation), xielu});
}

void GpuForward::add_branch(const GpuStep& step, const Branch& branch,
                            const std::function<void(const Output&)>& produce) {
    const uint32_t dim = spec_.dim;
    if (others_ != nullptr) return add_ranks_branch(step, branch, produce);
    if (step.trace != nullptr) {
        produce({nullptr, step.buffers.delta, dim});
        trace_stage(step, branch.index, branch.stage, step.buffers.delta, dim, dim);
    }
    const NormParams* next = branch.next ? &*branch.next : nullptr;
    if (!branch.post_norm && spec_.residual_scale == 1.0f)
        return produce({step.input.x, step.input.x, dim, next});
    const NormAddParams add = add_params(step, branch.post_norm);
    produce({nullptr, step.buffers.delta, dim, next, &add});
}

/// The same where each rank has a part of it.
void GpuForward::add_ranks_branch(const GpuStep& step, const Branch& branch,
                                  const std::function<void(const Output&)>& produce) {
    const uint32_t dim = spec_.dim;
    float* delta = step.buffers.delta;
    produce({nullptr, delta, dim});
    const NormAddParams add = add_params(step, branch.post_norm);
    const ExchangeParams* exchange = step.rows.is_prefill() ? nullptr : others_->exchange();
    if (exchange != nullptr) {
        AllReduceNormParams params{*exchange, delta, add, {}, branch.next ? 1u : 0u};
        if (branch.next) params.norm = *branch.next;
        launcher_.launch(all_reduce_norm_, {.grid_x = step.rows.count, .num_threads = 256}, params);
        return trace_stage(step, branch.index, branch.stage, delta, dim, dim);
    }
    launcher_.all_reduce(*others_, delta, size_t{step.rows.count} * dim);
    trace_stage(step, branch.index, branch.stage, delta, dim, dim);
    finish({nullptr, delta, dim, branch.next ? &*branch.next : nullptr, &add}, step.rows.count);
}

/// y <- norm(y), rows of n values.
NormAddParams GpuForward::norm_params_of(const GpuNorm& norm, float* y, uint32_t n,
                                         uint32_t stride) const {
    return {.x = y,
            .y = y,
            .weight = norm.weight,
            .bias = norm.bias,
            .n = n,
            .x_stride = stride,
            .y_stride = stride,
            .kind = norm_kind(spec_, norm),
            .is_addition = 0,
            .eps = spec_.norm_eps,
            .scale = 1.0f};
}

/// x += norm(delta) * residual_scale
NormAddParams GpuForward::add_params(const GpuStep& step, const GpuNorm& post_norm) const {
    NormAddParams params = norm_params_of(post_norm, step.buffers.delta, spec_.dim, spec_.dim);
    params.x = step.input.x;
    params.is_addition = 1;
    params.scale = spec_.residual_scale;
    return params;
}

}  // namespace hokku::cuda
