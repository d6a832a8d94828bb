// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/try.h"

namespace hokku::cuda {

uint32_t norm_kind(const ModelSpec& spec, const GpuNorm& norm) {
    if (!norm) return kNoNorm;
    return spec.norm == hokku::NormKind::rms ? kRmsNorm : kLayerNorm;
}

Result<void> GpuForward::find_kernels(KvType kv_type) {
    std::string missing;
    const auto find = [&](const std::string& name) {
        FunctionHandle function = gpu_.find_function(name);
        if (function == nullptr && missing.empty()) missing = name;
        return function;
    };
    norm_quantize_ = find("norm_quantize");
    norm_add_ = find("norm_add");
    all_reduce_norm_ = find("all_reduce_norm");
    rope_append_ = find("rope_append");
    attention_combine_ = find("attention_combine");
    activate_quantize_ = find("activate_quantize");
    quantize_rows_ = find("quantize_rows");
    route_experts_ = find("route_experts");
    sort_experts_ = find("sort_experts");
    combine_experts_ = find("combine_experts");
    top_k_ = find("top_k");
    split_rows_f16_ = find("split_rows_f16");
    split_rows_bf16_ = find("split_rows_bf16");
    finish_rows_ = find("finish_rows");
    for (uint32_t heads = 1; heads <= kMaxAttentionHeads; ++heads) {
        attention_.push_back(find(fmt::format("attention_{}_{}", kv_type_name(kv_type), heads)));
    }
    if (kv_type != KvType::f32) {
        for (const uint32_t dim : {64u, 128u, 256u}) {
            flash_.push_back(find(fmt::format("flash_{}_{}", kv_type_name(kv_type), dim)));
            if (flash_.back() == nullptr) continue;
            const auto bytes = std::min(flash_shared_bytes(dim, dim, kFlashMaxWarps),
                                        gpu_.max_shared_bytes_per_block());
            HOKKU_CHECK(gpu_.check(gpu_.api().function_set_attribute(
                                       flash_.back(), FunctionAttribute::max_dynamic_shared_bytes,
                                       static_cast<int32_t>(bytes)),
                                   "cuFuncSetAttribute"));
        }
    }
    if (missing.empty()) return {};
    return Error{ErrorCode::unsupported, "the GPU kernels lack one", missing, "a complete plug-in"};
}

namespace {

/// Whether the head follows the layers at once, for all rows.
bool has_head(const GpuStep& step) {
    return step.head != HeadOutput::none && !step.rows.is_prefill();
}

}  // namespace

// ---- the step ----------------------------------------------------------------------------------

Result<void> GpuForward::issue(const GpuStep& step) {
    const uint32_t dim = spec_.dim;
    if (spec_.part.is_first) trace_values(step, "embed", step.input.x, dim, dim);
    norm(norm_params(step, weights_.layers[0].mixer_norm, mixer_input(step, 0)));
    for (uint32_t i = 0; i < spec_.num_layers; ++i) run_layer(step, i);
    if (has_head(step)) {
        run_head(step, 0, step.rows.count);
    } else if (step.trace != nullptr && spec_.part.is_last) {
        HOKKU_CHECK(issue_head(step, step.trace->row, 1));
    }
    return launcher_.finish();
}

Result<PersistentProgram> GpuForward::make_program(GpuStep step) {
    if (step.head == HeadOutput::best) step.head = HeadOutput::all;  // The rest is launched behind.
    PersistentRecorder recorder;
    launcher_.record_to(&recorder);
    auto issued = issue(step);
    launcher_.record_to(nullptr);
    HOKKU_CHECK(std::move(issued));
    if (!recorder.is_complete()) return PersistentProgram();
    persistent_step_ = gpu_.find_function("persistent_step");
    if (persistent_step_ == nullptr) return PersistentProgram();
    int32_t blocks = 0;
    HOKKU_CHECK(
        gpu_.check(gpu_.api().max_active_blocks(&blocks, persistent_step_, kPersistentThreads, 0),
                   "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
    persistent_blocks_ = static_cast<uint32_t>(std::max(blocks, 0)) * gpu_.num_multiprocessors();
    if (persistent_blocks_ == 0) return PersistentProgram();
    return recorder.upload(gpu_);
}

Result<void> GpuForward::issue_program(const GpuStep& step, const PersistentProgram& program) {
    launcher_.launch(
        persistent_step_,
        {.grid_x = persistent_blocks_, .num_threads = kPersistentThreads, .is_cooperative = true},
        program.params);
    if (step.head == HeadOutput::best) select_best(step, 1);
    return launcher_.finish();
}

Result<void> GpuForward::issue_head(const GpuStep& step, uint32_t first, uint32_t count) {
    const GpuMatrix* users[] = {&weights_.head};
    QuantizedVectors out = vectors_for(step, step.buffers.normed, spec_.dim, users);
    out.num_vectors = count;
    NormParams params = norm_params(step, weights_.final_norm, out);
    params.x += size_t{first} * spec_.dim;
    norm(params);
    run_head(step, first, count);
    return launcher_.finish();
}

/// Logits of rows whose final norm is there.
void GpuForward::run_head(const GpuStep& step, uint32_t first, uint32_t count) {
    const GpuMatrix* users[] = {&weights_.head};
    QuantizedVectors x = vectors_for(step, step.buffers.normed, spec_.dim, users);
    x.num_vectors = count;
    // Row `first` is the first one there.
    if (step.trace != nullptr)  // without one there may be no values
        trace_values(step, "final_norm", x.values - size_t{first} * x.groups * kGroup,
                     size_t{x.groups} * kGroup, spec_.dim);
    multiply_few(weights_.head, x,
                 {.residual = nullptr, .out = step.buffers.logits, .stride = spec_.num_vocab});
    if (step.head == HeadOutput::best) select_best(step, count);
}

/// The best of each chunk, then of all of them.
void GpuForward::select_best(const GpuStep& step, uint32_t count) {
    const GpuBuffers& buffers = step.buffers;
    const uint32_t num_chunks = ceil_div(spec_.num_vocab, kBestChunk);
    const bool is_one = num_chunks == 1;
    launcher_.launch(top_k_, {.grid_x = num_chunks, .grid_y = count, .num_threads = 1024},
                     TopKParams{.values = buffers.logits,
                                .ids = nullptr,
                                .out_values = is_one ? buffers.best_values : buffers.chunk_values,
                                .out_ids = is_one ? buffers.best_ids : buffers.chunk_ids,
                                .n = spec_.num_vocab,
                                .stride = spec_.num_vocab,
                                .chunk = kBestChunk,
                                .k = kNumBest});
    if (is_one) return;
    const uint32_t n = num_chunks * kNumBest;
    launcher_.launch(top_k_, {.grid_y = count, .num_threads = 1024},
                     TopKParams{.values = buffers.chunk_values,
                                .ids = buffers.chunk_ids,
                                .out_values = buffers.best_values,
                                .out_ids = buffers.best_ids,
                                .n = n,
                                .stride = n,
                                .chunk = n,
                                .k = kNumBest});
}

void GpuForward::run_layer(const GpuStep& step, uint32_t index) {
    const LayerSpec& spec = spec_.layers[index];
    const GpuLayer& layer = weights_.layers[index];
    const uint32_t dim = spec_.dim;
    // attn_norm was computed behind what is in front of the layer.
    const QuantizedVectors normed = mixer_input(step, index);
    trace_stage(step, index, "attn_norm", normed.values, size_t{normed.groups} * kGroup, dim);
    const QuantizedVectors ffn_normed = ffn_input(step, index);
    const NormParams ffn_norm = norm_params(step, layer.ffn_norm, ffn_normed);
    if (spec.residual == Residual::parallel) norm(ffn_norm);  // Of x before attention.
    run_attention(step, index, normed);

    // attn_out, ffn_norm
    const AttentionSpec& attention = *spec.attention();
    const GpuMatrix* o_user[] = {&layer.o};
    const uint32_t mix = attention.num_heads * attention.value_dim;
    const QuantizedVectors attended = vectors_for(step, step.buffers.attended, mix, o_user);
    trace_stage(step, index, "attn_mix", attended.values, size_t{attended.groups} * kGroup, mix);
    Branch branch{layer.mixer_post_norm, "attn_out", index, std::nullopt};
    if (spec.residual == Residual::sequential) branch.next = ffn_norm;
    add_branch(step, branch,
               [&](const Output& output) { multiply(step, layer.o, attended, output); });

    const QuantizedVectors& input =
        spec.residual == Residual::parallel_shared ? normed : ffn_normed;
    trace_stage(step, index, "ffn_in", input.values, size_t{input.groups} * kGroup, dim);
    run_ffn(step, index, input);
    trace_values(step, layer_name(index), step.input.x, dim, dim);
}

// ---- norms and their vectors -------------------------------------------------------------------

namespace {

/// What multiplies the input of an FFN.
std::array<const GpuMatrix*, 6> ffn_users(const GpuLayer& layer) {
    return {&layer.gate,
            &layer.up,
            &layer.router,
            &layer.shared_router,
            &layer.expert_gate.matrix,
            &layer.expert_up.matrix};
}

}  // namespace

/// Of the codes and values that the products need; with a trace the values always.
QuantizedVectors GpuForward::vectors_for(const GpuStep& step, const GpuVectors& vectors, uint32_t n,
                                         std::span<const GpuMatrix* const> users) const {
    QuantizedVectors out = vectors.all;
    bool has_codes = false, has_values = step.trace != nullptr;
    for (const GpuMatrix* user : users) {
        if (user->rows == 0) continue;
        (user->is_float ? has_values : has_codes) = true;
        if (step.rows.is_prefill() && is_by_library(*user)) has_values = true;
    }
    if (!has_codes) out.codes = nullptr;
    if (!has_values) out.values = nullptr;
    out.groups = ceil_div(n, kGroup);
    out.num_vectors = step.rows.count;
    return out;
}

QuantizedVectors GpuForward::mixer_input(const GpuStep& step, uint32_t index) const {
    const GpuLayer& layer = weights_.layers[index];
    std::vector<const GpuMatrix*> users;
    for (const GpuMatrix& matrix : layer.qkv) users.push_back(&matrix);
    if (spec_.layers[index].residual == Residual::parallel_shared) {
        const auto more = ffn_users(layer);
        users.insert(users.end(), more.begin(), more.end());
    }
    return vectors_for(step, step.buffers.normed, spec_.dim, users);
}

QuantizedVectors GpuForward::ffn_input(const GpuStep& step, uint32_t index) const {
    return vectors_for(step, step.buffers.ffn_normed, spec_.dim, ffn_users(weights_.layers[index]));
}

NormParams GpuForward::norm_params(const GpuStep& step, const GpuNorm& norm,
                                   const QuantizedVectors& out) const {
    return {.x = step.input.x,
            .delta = nullptr,
            .weight = norm.weight,
            .out = out,
            .n = spec_.dim,
            .eps = spec_.norm_eps,
            .bias = norm.bias,
            .kind = norm_kind(spec_, norm)};
}

/// By as many threads as fused products have, so that it rounds as they do.
void GpuForward::norm(const NormParams& params) {
    launcher_.launch(norm_quantize_, {.grid_x = params.out.num_vectors, .num_threads = 256},
                     params);
}

/// The norm behind a layer: of the next one's mixer, or the final one.
std::optional<NormParams> GpuForward::norm_behind(const GpuStep& step, uint32_t index) const {
    if (index + 1 < spec_.num_layers) {
        return norm_params(step, weights_.layers[index + 1].mixer_norm,
                           mixer_input(step, index + 1));
    }
    if (!has_head(step)) return std::nullopt;
    const GpuMatrix* users[] = {&weights_.head};
    return norm_params(step, weights_.final_norm,
                       vectors_for(step, step.buffers.normed, spec_.dim, users));
}

}  // namespace hokku::cuda
