// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace hokku::cuda {

namespace {

constexpr size_t kAttentionHeads = 8;  // Query heads of one block at most.

uint32_t ceil_div(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

/// Threads of a block that works on a vector of n values.
uint32_t threads_for(uint32_t n) {
    return std::clamp(ceil_div(ceil_div(n, 4), 32) * 32, 32u, 1024u);
}

uint32_t norm_kind(const ModelSpec& spec, const GpuNorm& norm) {
    if (!norm) return kNoNorm;
    return spec.norm == hokku::NormKind::rms ? kRmsNorm : kLayerNorm;
}

uint32_t activation_of(hokku::Activation activation) {
    switch (activation) {
        case hokku::Activation::gelu_tanh:
            return kGeluTanh;
        case hokku::Activation::gelu_erf:
            return kGeluErf;
        case hokku::Activation::relu_squared:
            return kReluSquared;
        default:
            return kSilu;
    }
}

uint32_t qkv_size(const AttentionSpec& spec) {
    return (spec.num_heads + spec.num_kv_heads) * spec.key_dim + spec.num_kv_heads * spec.value_dim;
}

}  // namespace

// ---- memory ------------------------------------------------------------------------------------

StepInput StepInput::lay_out(GpuLayout& layout, uint32_t rows, uint32_t max_blocks, uint32_t dim) {
    StepInput input;
    input.positions = layout.take<uint32_t>(rows);
    input.tables = layout.take<uint32_t>(size_t{rows} * max_blocks);
    input.x = layout.take<float>(size_t{rows} * dim);
    return input;
}

GpuVectors GpuVectors::lay_out(GpuLayout& layout, uint32_t n) {
    const uint32_t groups = ceil_div(n, kGroup);
    const size_t count = size_t{kMaxRows} * groups;
    GpuVectors out;
    out.all.codes = layout.take<int8_t>(count * kGroup);
    out.all.scales = layout.take<GroupScale>(count);
    out.all.values = layout.take<float>(count * kGroup);
    out.all.groups = groups;
    return out;
}

GpuBuffers GpuBuffers::lay_out(GpuLayout& layout, const ModelSpec& spec) {
    size_t qkv = 0, mix = 0, heads = 0, hidden = 0;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = *layer.attention();
        qkv = std::max<size_t>(qkv, qkv_size(attention));
        mix = std::max(mix, size_t{attention.num_heads} * attention.value_dim);
        heads = std::max<size_t>(heads, attention.num_heads);
        hidden = std::max<size_t>(hidden, layer.ffn.hidden);
    }
    GpuBuffers out;
    out.qkv = layout.take<float>(kMaxRows * qkv);
    out.sums = layout.take<float>(kMaxRows * mix * kMaxSplits);
    out.maxima = layout.take<float>(kMaxRows * heads * kMaxSplits);
    out.weights = layout.take<float>(kMaxRows * heads * kMaxSplits);
    out.gate = layout.take<float>(kMaxRows * hidden);
    out.up = layout.take<float>(kMaxRows * hidden);
    out.delta = layout.take<float>(size_t{kMaxRows} * spec.dim);
    out.logits = layout.take<float>(size_t{kMaxRows} * spec.num_vocab);
    out.normed = GpuVectors::lay_out(layout, spec.dim);
    out.ffn_normed = GpuVectors::lay_out(layout, spec.dim);
    out.attended = GpuVectors::lay_out(layout, static_cast<uint32_t>(mix));
    out.activated = GpuVectors::lay_out(layout, static_cast<uint32_t>(hidden));
    return out;
}

// ---- launches ----------------------------------------------------------------------------------

Result<void> GpuForward::find_kernels(KvType kv_type) {
    std::string missing;
    const auto find = [&](const std::string& name) {
        FunctionHandle function = gpu_.find_function(name);
        if (function == nullptr && missing.empty()) missing = name;
        return function;
    };
    norm_quantize_ = find("norm_quantize");
    norm_add_ = find("norm_add");
    rope_append_ = find("rope_append");
    attention_combine_ = find("attention_combine");
    activate_quantize_ = find("activate_quantize");
    for (size_t heads = 1; heads <= kAttentionHeads; ++heads) {
        attention_.push_back(find(fmt::format("attention_{}_{}", kv_type_name(kv_type), heads)));
    }
    if (missing.empty()) return {};
    return Error{ErrorCode::unsupported, "the GPU kernels lack one", missing, "a complete plug-in"};
}

void GpuForward::launch_bytes(FunctionHandle function, const Shape& shape, const void* params) {
    if (status_ != DriverResult::success) return;
    LaunchAttribute attribute = {};
    attribute.id = LaunchAttributeId::programmatic_serialization;
    attribute.value.flag = 1;
    const LaunchConfig config{.grid_x = shape.grid_x,
                              .grid_y = shape.grid_y,
                              .grid_z = shape.grid_z,
                              .block_x = shape.num_threads,
                              .block_y = 1,
                              .block_z = 1,
                              .shared_bytes = 0,
                              .stream = gpu_.stream(),
                              .attributes = &attribute,
                              .num_attributes = gpu_.has_dependent_launches() ? 1u : 0u};
    void* pointers[1] = {const_cast<void*>(params)};
    status_ = gpu_.api().launch(&config, function, pointers, nullptr);
    if (status_ != DriverResult::success) failed_call_ = "cuLaunchKernelEx";
}

Result<void> GpuForward::issue(uint32_t bucket, const StepInput& input, const GpuBuffers& buffers,
                               const KvMemory& kv, bool has_head, const GpuTrace* trace) {
    status_ = DriverResult::success;
    const Call call{bucket, 1u << bucket, input, buffers, kv, trace};
    trace_values(call, "embed", input.x, spec_.dim, spec_.dim);
    for (uint32_t i = 0; i < spec_.num_layers; ++i) run_layer(call, i);
    if (has_head || trace != nullptr) {
        const GpuMatrix* users[] = {&weights_.head};
        const QuantizedVectors out = vectors_for(call, buffers.normed, spec_.dim, users);
        norm(call, weights_.final_norm, out);
        trace_values(call, "final_norm", out.values, size_t{out.groups} * kGroup, spec_.dim);
        multiply(call, weights_.head, out, nullptr, buffers.logits, spec_.num_vocab);
    }
    return gpu_.check(status_, failed_call_);
}

/// Of the codes and values that the products need; with a trace the values always.
QuantizedVectors GpuForward::vectors_for(const Call& call, const GpuVectors& vectors, uint32_t n,
                                         std::span<const GpuMatrix* const> users) const {
    QuantizedVectors out = vectors.all;
    bool has_codes = false, has_values = call.trace != nullptr;
    for (const GpuMatrix* user : users) {
        if (user->rows == 0) continue;
        (user->is_float ? has_values : has_codes) = true;
    }
    if (!has_codes) out.codes = nullptr;
    if (!has_values) out.values = nullptr;
    out.groups = ceil_div(n, kGroup);
    out.num_vectors = call.rows;
    return out;
}

void GpuForward::norm(const Call& call, const GpuNorm& norm, const QuantizedVectors& out) {
    launch(norm_quantize_, {.grid_x = call.rows, .num_threads = threads_for(spec_.dim)},
           NormParams{.x = call.input.x,
                      .delta = nullptr,
                      .weight = norm.weight,
                      .out = out,
                      .n = spec_.dim,
                      .eps = spec_.norm_eps,
                      .bias = norm.bias,
                      .kind = norm_kind(spec_, norm)});
}

void GpuForward::multiply(const Call& call, const GpuMatrix& matrix, const QuantizedVectors& x,
                          const float* residual, float* out, uint32_t out_stride) {
    const uint32_t rows_of_block = 8 / matrix.warps_per_row * (matrix.is_float ? 1 : 2);
    const Shape shape{.grid_x = ceil_div(matrix.rows, rows_of_block), .num_threads = 256};
    if (matrix.is_float) {
        launch(matrix.kernels[call.bucket], shape,
               FloatGemvParams{.weight = matrix.data,
                               .x = x.values,
                               .bias = matrix.bias,
                               .residual = residual,
                               .out = out,
                               .rows = matrix.rows,
                               .cols = matrix.cols,
                               .x_stride = x.groups * kGroup,
                               .out_stride = out_stride,
                               .num_vectors = call.rows,
                               .warps_per_row = matrix.warps_per_row});
        return;
    }
    launch(matrix.kernels[call.bucket], shape,
           GemvParams{.weight = matrix.planes,
                      .x = x,
                      .bias = matrix.bias,
                      .residual = residual,
                      .out = out,
                      .out_stride = out_stride,
                      .warps_per_row = matrix.warps_per_row});
}

// ---- layer -------------------------------------------------------------------------------------

void GpuForward::run_layer(const Call& call, uint32_t index) {
    const LayerSpec& spec = spec_.layers[index];
    const GpuLayer& layer = weights_.layers[index];
    const uint32_t dim = spec_.dim;
    const GpuMatrix* ffn_users[] = {&layer.gate, &layer.up};

    // attn_norm
    std::vector<const GpuMatrix*> users;
    for (const GpuMatrix& matrix : layer.qkv) users.push_back(&matrix);
    if (spec.residual == Residual::parallel_shared) {
        users.insert(users.end(), std::begin(ffn_users), std::end(ffn_users));
    }
    const QuantizedVectors normed = vectors_for(call, call.buffers.normed, dim, users);
    norm(call, layer.mixer_norm, normed);
    trace_stage(call, index, "attn_norm", normed.values, size_t{normed.groups} * kGroup, dim);
    QuantizedVectors ffn_input = normed;
    if (spec.residual == Residual::parallel) {  // Of x before attention is added to it.
        ffn_input = vectors_for(call, call.buffers.ffn_normed, dim, ffn_users);
        norm(call, layer.ffn_norm, ffn_input);
    }

    // q, k, v
    const uint32_t stride = qkv_size(*spec.attention());
    uint32_t row = 0;
    for (const GpuMatrix& matrix : layer.qkv) {
        multiply(call, matrix, normed, nullptr, call.buffers.qkv + row, stride);
        row += matrix.rows;
    }
    run_attention(call, index);

    // attn_out
    const GpuMatrix* o_user[] = {&layer.o};
    const AttentionSpec& attention = *spec.attention();
    const QuantizedVectors attended =
        vectors_for(call, call.buffers.attended, attention.num_heads * attention.value_dim, o_user);
    trace_stage(call, index, "attn_mix", attended.values, size_t{attended.groups} * kGroup,
                size_t{attention.num_heads} * attention.value_dim);
    add_branch(call, layer.o, attended, layer.mixer_post_norm, "attn_out", index);

    // ffn_in
    if (spec.residual == Residual::sequential) {
        ffn_input = vectors_for(call, call.buffers.ffn_normed, dim, ffn_users);
        norm(call, layer.ffn_norm, ffn_input);
    }
    trace_stage(call, index, "ffn_in", ffn_input.values, size_t{ffn_input.groups} * kGroup, dim);
    run_ffn(call, index, ffn_input);
    trace_values(call, fmt::format("layer{}", index), call.input.x, dim, dim);
}

void GpuForward::run_attention(const Call& call, uint32_t index) {
    const AttentionSpec& spec = *spec_.layers[index].attention();
    const GpuLayer& layer = weights_.layers[index];
    const GpuBuffers& buffers = call.buffers;
    const uint32_t stride = qkv_size(spec), q_size = spec.num_heads * spec.key_dim;
    const uint32_t k_size = spec.num_kv_heads * spec.key_dim;
    const KvPool kv = call.kv.pool(index, call.input.tables);
    const uint32_t permuted = spec.is_permuted ? spec.key_dim : 0;
    trace_stage(call, index, "q", buffers.qkv, stride, q_size, permuted);
    trace_stage(call, index, "k", buffers.qkv + q_size, stride, k_size, permuted);
    trace_stage(call, index, "v", buffers.qkv + q_size + k_size, stride,
                size_t{spec.num_kv_heads} * spec.value_dim);

    // q_rope, k_rope, KV append
    const bool has_whole_norm = spec.qk_norm == QkNorm::whole;
    if (has_whole_norm) {
        const auto norm_all = [&](float* heads, uint32_t n, const GpuNorm& norm) {
            launch(norm_add_, {.grid_x = call.rows, .num_threads = threads_for(n)},
                   NormAddParams{.x = heads,
                                 .y = heads,
                                 .weight = norm.weight,
                                 .bias = norm.bias,
                                 .n = n,
                                 .x_stride = stride,
                                 .y_stride = stride,
                                 .kind = norm_kind(spec_, norm),
                                 .is_addition = 0,
                                 .eps = spec_.norm_eps,
                                 .scale = 1.0f});
        };
        norm_all(buffers.qkv, q_size, layer.q_norm);
        norm_all(buffers.qkv + q_size, k_size, layer.k_norm);
    }
    const bool has_head_norm = spec.qk_norm != QkNorm::none && !has_whole_norm;
    const GpuNorm none;
    const GpuNorm& q_norm = has_head_norm ? layer.q_norm : none;
    const GpuNorm& k_norm = has_head_norm ? layer.k_norm : none;
    const bool has_rope = spec.rope_index >= 0;
    const auto rope_index = static_cast<size_t>(std::max(spec.rope_index, 0));
    const uint32_t num_dims = has_rope ? spec_.ropes[rope_index].num_dims : 0;
    const bool is_interleaved =
        has_rope && spec_.ropes[rope_index].pairing == RopePairing::interleaved;
    launch(rope_append_, {.grid_x = spec.num_heads + 2 * spec.num_kv_heads, .grid_y = call.rows},
           RopeParams{.qkv = buffers.qkv,
                      .positions = call.input.positions,
                      .cos_sin = has_rope ? buffers.rope_tables[rope_index] : nullptr,
                      .q_norm = q_norm.weight,
                      .k_norm = k_norm.weight,
                      .kv = kv,
                      .num_heads = spec.num_heads,
                      .num_dims = num_dims,
                      .is_interleaved = is_interleaved ? 1u : 0u,
                      .eps = spec_.norm_eps,
                      .q_norm_bias = q_norm.bias,
                      .k_norm_bias = k_norm.bias,
                      .norm_stride = spec.qk_norm == QkNorm::per_head_own ? spec.key_dim : 0,
                      .norm_kind = norm_kind(spec_, q_norm),
                      .is_norm_last = spec.qk_norm_after_rope ? 1u : 0u,
                      .temperature_span = spec.temperature_span,
                      .temperature = spec.temperature});
    trace_stage(call, index, "q_rope", buffers.qkv, stride, q_size, permuted);
    trace_key(call, index, spec);

    // attn_mix
    const uint32_t group = spec.num_heads / spec.num_kv_heads;
    const uint32_t pieces = ceil_div(group, kAttentionHeads);
    const uint32_t heads = ceil_div(group, pieces);
    const uint32_t num_splits = call.kv.num_splits();
    launch(attention_[heads - 1],
           {.grid_x = spec.num_kv_heads * ceil_div(group, heads),
            .grid_y = num_splits,
            .grid_z = call.rows,
            .num_threads = 128},
           AttentionParams{.q = buffers.qkv,
                           .positions = call.input.positions,
                           .kv = kv,
                           .sums = buffers.sums,
                           .maxima = buffers.maxima,
                           .weights = buffers.weights,
                           .q_stride = stride,
                           .num_heads = spec.num_heads,
                           .split_positions = call.kv.split_positions(),
                           .window = spec.window,
                           .scale = spec.scale,
                           .softcap = spec.logit_softcap});
    const GpuMatrix* user[] = {&layer.o};
    const uint32_t mix = spec.num_heads * spec.value_dim;
    const QuantizedVectors out = vectors_for(call, buffers.attended, mix, user);
    launch(attention_combine_,
           {.grid_x = ceil_div(out.groups, 4), .grid_y = call.rows, .num_threads = 128},
           CombineParams{buffers.sums, buffers.maxima, buffers.weights, layer.sinks, out,
                         spec.num_heads, num_splits, spec.value_dim});
}

void GpuForward::run_ffn(const Call& call, uint32_t index, const QuantizedVectors& input) {
    const FfnSpec& spec = spec_.layers[index].ffn;
    const GpuLayer& layer = weights_.layers[index];
    const GpuBuffers& buffers = call.buffers;
    const GpuMatrix* user[] = {&layer.down};
    const QuantizedVectors out = vectors_for(call, buffers.activated, spec.hidden, user);
    const uint32_t activation = activation_of(spec.activation);
    if (layer.has_fused_gate) {
        launch(layer.gated_kernels[call.bucket],
               {.grid_x = ceil_div(spec.hidden, kGroup), .num_threads = 256},
               GatedGemvParams{layer.gate.planes, layer.up.planes, input, layer.gate.bias,
                               layer.up.bias, out, activation});
    } else {
        // Without a gate the activation is of up itself, which then takes gate's place.
        if (spec.gated) multiply(call, layer.gate, input, nullptr, buffers.gate, spec.hidden);
        multiply(call, layer.up, input, nullptr, spec.gated ? buffers.up : buffers.gate,
                 spec.hidden);
        launch(activate_quantize_,
               {.grid_x = ceil_div(out.groups, 8), .grid_y = call.rows, .num_threads = 256},
               ActivateParams{buffers.gate, spec.gated ? buffers.up : nullptr, out, spec.hidden,
                              spec.hidden, activation});
    }
    add_branch(call, layer.down, out, layer.ffn_post_norm, "ffn_out", index);
}

void GpuForward::add_branch(const Call& call, const GpuMatrix& matrix, const QuantizedVectors& x,
                            const GpuNorm& post_norm, std::string_view stage, uint32_t index) {
    const uint32_t dim = spec_.dim;
    const bool is_plain = !post_norm && spec_.residual_scale == 1.0f;
    if (!is_plain || call.trace != nullptr) {
        multiply(call, matrix, x, nullptr, call.buffers.delta, dim);
        trace_stage(call, index, stage, call.buffers.delta, dim, dim);
    }
    if (is_plain) return multiply(call, matrix, x, call.input.x, call.input.x, dim);
    launch(norm_add_, {.grid_x = call.rows, .num_threads = threads_for(dim)},
           NormAddParams{.x = call.input.x,
                         .y = call.buffers.delta,
                         .weight = post_norm.weight,
                         .bias = post_norm.bias,
                         .n = dim,
                         .x_stride = dim,
                         .y_stride = dim,
                         .kind = norm_kind(spec_, post_norm),
                         .is_addition = 1,
                         .eps = spec_.norm_eps,
                         .scale = spec_.residual_scale});
}

// ---- traces ------------------------------------------------------------------------------------

std::vector<float> GpuForward::download(const float* values, size_t n) {
    std::vector<float> out(n);
    if (status_ != DriverResult::success) return out;
    status_ = gpu_.api().stream_synchronize(gpu_.stream());
    failed_call_ = "cuStreamSynchronize";
    if (status_ != DriverResult::success) return out;
    status_ = gpu_.api().copy_to_host(out.data(), reinterpret_cast<DevicePointer>(values),
                                      n * sizeof(float));
    failed_call_ = "cuMemcpyDtoH_v2";
    return out;
}

/// Values of the traced row; of heads whose rows the converter interleaved (head_dim) in their
/// original order.
void GpuForward::trace_values(const Call& call, const std::string& name, const float* values,
                              size_t stride, size_t n, uint32_t head_dim) {
    if (call.trace == nullptr) return;
    std::vector<float> out = download(values + call.trace->row * stride, n);
    if (head_dim > 0) {
        const std::vector<float> stored = out;
        const size_t half = head_dim / 2;
        for (size_t first = 0; first < n; first += head_dim) {
            for (size_t i = 0; i < head_dim; ++i)
                out[first + i] = stored[first + (i < half ? 2 * i : 2 * (i - half) + 1)];
        }
    }
    if (status_ == DriverResult::success) call.trace->on_values(name, out);
}

void GpuForward::trace_stage(const Call& call, uint32_t index, std::string_view name,
                             const float* values, size_t stride, size_t n, uint32_t head_dim) {
    if (call.trace == nullptr || !call.trace->stages) return;
    trace_values(call, fmt::format("layer{}.{}", index, name), values, stride, n, head_dim);
}

/// Rotated keys lie in the cache alone.
void GpuForward::trace_key(const Call& call, uint32_t index, const AttentionSpec& spec) {
    if (call.trace == nullptr || !call.trace->stages || status_ != DriverResult::success) return;
    status_ = gpu_.api().stream_synchronize(gpu_.stream());
    failed_call_ = "cuStreamSynchronize";
    if (status_ != DriverResult::success) return;
    auto key =
        call.kv.read_key(gpu_, index, call.trace->block, call.trace->position % kKvPositions);
    if (!key.ok()) {
        status_ = DriverResult::unknown;
        failed_call_ = "cuMemcpyDtoH_v2";
        return;
    }
    std::vector<float> values = *key;
    if (spec.is_permuted) {
        const size_t half = spec.key_dim / 2;
        for (size_t first = 0; first < values.size(); first += spec.key_dim) {
            for (size_t i = 0; i < spec.key_dim; ++i)
                values[first + i] = (*key)[first + (i < half ? 2 * i : 2 * (i - half) + 1)];
        }
    }
    call.trace->on_values(fmt::format("layer{}.k_rope", index), values);
}

}  // namespace hokku::cuda
