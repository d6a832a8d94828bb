// SPDX-License-Identifier: Apache-2.0
// The FFN of layers with experts: the router chooses, the chosen ones are multiplied, and what they
// give is added up. An output is one (row, chosen expert) pair.
#include "plugin/gpu_forward.h"

namespace hokku::cuda {

void GpuForward::run_experts(const GpuStep& step, uint32_t index, const QuantizedVectors& input) {
    const FfnSpec& spec = spec_.layers[index].ffn;
    const ExpertSpec& experts = *spec.experts;
    const GpuLayer& layer = weights_.layers[index];
    const GpuBuffers& buffers = step.buffers;
    route(step, index, input);
    if (spec.gated)
        multiply_experts(step, experts, layer.expert_gate, input, experts.num_used, buffers.gate);
    multiply_experts(step, experts, layer.expert_up, input, experts.num_used,
                     spec.gated ? buffers.up : buffers.gate);
    const GpuMatrix* user[] = {&layer.expert_down.matrix};
    QuantizedVectors out = vectors_for(step, buffers.activated, experts.hidden, user);
    out.num_vectors = step.rows.count * experts.num_used;
    activate(step, spec, experts.hidden, out);
    multiply_experts(step, experts, layer.expert_down, out, 1, buffers.expert_out);
    if (experts.shared_hidden > 0) run_shared_expert(step, index, input);

    const uint32_t dim = spec_.dim;
    add_branch(
        step, {layer.ffn_post_norm, "ffn_out", index, norm_behind(step, index)},
        [&](const Output& output) {
            CombineExpertsParams params{
                buffers.expert_out, buffers.expert_weights, output.residual, output.out, dim,
                experts.num_used};
            if (experts.shared_hidden > 0) params.shared = buffers.shared_out;
            if (experts.shared_gate) params.shared_gate = buffers.shared_gate;
            launcher_.launch(
                combine_experts_,
                {.grid_x = ceil_div(dim, 256), .grid_y = step.rows.count, .num_threads = 256},
                params);
            finish(output, step.rows.count);
        });
}

/// The experts of each row and their weights.
void GpuForward::route(const GpuStep& step, uint32_t index, const QuantizedVectors& input) {
    const ExpertSpec& spec = *spec_.layers[index].ffn.experts;
    const GpuLayer& layer = weights_.layers[index];
    const GpuBuffers& buffers = step.buffers;
    multiply(step, layer.router, input, {nullptr, buffers.router_logits, spec.num_experts});
    launcher_.launch(route_experts_, {.grid_x = step.rows.count, .num_threads = 32},
                     RouteParams{.logits = buffers.router_logits,
                                 .selection_bias = layer.selection_bias,
                                 .ids = buffers.expert_ids,
                                 .weights = buffers.expert_weights,
                                 .num_experts = spec.num_experts,
                                 .num_used = spec.num_used,
                                 .num_groups = spec.num_groups,
                                 .num_groups_used = spec.num_groups_used,
                                 .gating = static_cast<uint32_t>(spec.gating),
                                 .renormalise = spec.renormalise ? 1u : 0u,
                                 .min_weight_sum = spec.min_weight_sum,
                                 .weight_scale = spec.weight_scale});
    if (!step.rows.is_prefill()) return;
    launcher_.launch(
        sort_experts_, {.num_threads = 512},
        SortExpertsParams{buffers.expert_ids, buffers.expert_outputs, buffers.expert_bounds,
                          step.rows.count * spec.num_used, spec.num_experts});
}

/// Of each output with its expert; output i is of vector i / outputs_of_vector.
void GpuForward::multiply_experts(const GpuStep& step, const ExpertSpec& spec,
                                  const GpuExperts& experts, const QuantizedVectors& x,
                                  uint32_t outputs_of_vector, float* out) {
    const GpuMatrix& matrix = experts.matrix;
    const GpuBuffers& buffers = step.buffers;
    const Output output{.residual = nullptr, .out = out, .stride = experts.rows};
    if (step.rows.is_prefill() && !matrix.is_float) {
        launcher_.launch(
            matrix.gemm,
            {.grid_x = ceil_div(step.rows.count, kGemmVectors),  // No row has an expert twice.
             .grid_y = ceil_div(experts.rows, kGemmRows),
             .grid_z = spec.num_experts,
             .num_threads = 256},
            ExpertGemmParams{gemm_params(matrix, x, output), buffers.expert_outputs,
                             buffers.expert_bounds, experts.rows, outputs_of_vector});
        return;
    }
    GpuMatrix one = matrix;  // For the number of blocks.
    one.rows = experts.rows;
    LaunchSize size = gemv_size(one);
    size.grid_y = step.rows.count * spec.num_used;
    if (matrix.is_float) {
        launcher_.launch(matrix.kernels[0], size,
                         FloatExpertParams{float_gemv_params(one, x, output), buffers.expert_ids,
                                           outputs_of_vector});
    } else {
        launcher_.launch(matrix.kernels[0], size,
                         ExpertGemvParams{gemv_params(matrix, x, output), buffers.expert_ids,
                                          experts.rows, outputs_of_vector});
    }
}

/// The expert that every row passes.
void GpuForward::run_shared_expert(const GpuStep& step, uint32_t index,
                                   const QuantizedVectors& input) {
    const ExpertSpec& spec = *spec_.layers[index].ffn.experts;
    const GpuLayer& layer = weights_.layers[index];
    const QuantizedVectors out = activate_products(step, index, spec.shared_hidden, input);
    multiply(step, layer.down, out, {nullptr, step.buffers.shared_out, spec_.dim});
    if (spec.shared_gate)
        multiply(step, layer.shared_router, input, {nullptr, step.buffers.shared_gate, 1});
}

}  // namespace hokku::cuda
