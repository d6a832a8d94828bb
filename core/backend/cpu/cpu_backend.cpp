// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.h"

namespace hokku::cpu {

namespace {

Error unsupported(const ModelSpec& spec, std::string_view feature) {
    return {ErrorCode::unsupported, fmt::format("the CPU backend does not compute {}", feature),
            fmt::format("architecture {}", spec.architecture), ""};
}

/// What ModelSpec can say and this backend does not compute.
Result<void> check_features(const ModelSpec& spec) {
    if (spec.per_layer_input) return unsupported(spec, "per-layer embeddings");
    if (spec.altup) return unsupported(spec, "alternating updates");
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec* attention = layer.attention();
        if (attention == nullptr) return unsupported(spec, "mixers other than softmax attention");
        if (attention->has_output_gate) return unsupported(spec, "gated attention outputs");
        if (attention->value_norm) return unsupported(spec, "norms of values");
        if (attention->keys_are_values) return unsupported(spec, "keys that are values");
        if (attention->kv_from_layer >= 0) return unsupported(spec, "KV shared between layers");
        if (layer.has_output_scale) return unsupported(spec, "scaled layer outputs");
        if (layer.ffn.sparsity != 0) return unsupported(spec, "sparse activations");
        const auto& experts = layer.ffn.experts;
        if (!experts) continue;
        if (experts->beside_dense) return unsupported(spec, "experts beside a dense FFN");
        if (experts->scaled_router) return unsupported(spec, "scaled routers");
        if (experts->fused_gate_up) return unsupported(spec, "fused gate and up experts");
    }
    return {};
}

/// The largest input of any product, for the scratch of matmul.
uint32_t max_in_features(const ModelSpec& spec) {
    uint32_t max = spec.dim;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = *layer.attention();
        max = std::max({max, attention.num_heads * attention.value_dim, layer.ffn.hidden});
        if (const auto& experts = layer.ffn.experts)
            max = std::max({max, experts->hidden, experts->shared_hidden});
    }
    return max;
}

AttentionLimits attention_limits(const ModelSpec& spec, uint32_t num_lanes) {
    AttentionLimits limits{.num_lanes = num_lanes};
    for (const LayerSpec& layer : spec.layers) {
        limits.max_heads = std::max(limits.max_heads, layer.attention()->num_heads);
        limits.max_value_dim = std::max(limits.max_value_dim, layer.attention()->value_dim);
    }
    return limits;
}

uint64_t matrix_bytes(const WeightMatrix& matrix) {
    return uint64_t{matrix.rows} * matrix.row_bytes();
}

uint64_t bytes_per_token(const ModelSpec& spec, const Weights& weights) {
    uint64_t bytes = matrix_bytes(weights.head) + weights.embedding.row_bytes();
    for (size_t i = 0; i < spec.layers.size(); ++i) {
        const LayerWeights& layer = weights.layers[i];
        for (const WeightMatrix* matrix :
             {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.gate, &layer.up, &layer.down,
              &layer.router, &layer.shared_gate, &layer.shared_up, &layer.shared_down})
            bytes += matrix_bytes(*matrix);
        const auto& experts = spec.layers[i].ffn.experts;
        if (!experts) continue;
        for (const auto* matrices : {&layer.expert_gate, &layer.expert_up, &layer.expert_down})
            if (!matrices->empty()) bytes += experts->num_used * matrix_bytes(matrices->front());
    }
    return bytes;
}

Error bad_step(std::string what, std::string expected) {
    return {ErrorCode::bad_argument, std::move(what), "model step", std::move(expected)};
}

}  // namespace

Result<std::unique_ptr<Backend>> CpuBackend::create(const Model& model,
                                                    const BackendOptions& options) {
    const ModelSpec& spec = model.spec();
    HOKKU_CHECK(check_features(spec));
    if (options.num_kv_blocks == 0 || options.max_step_tokens == 0)
        return Error{ErrorCode::bad_argument, "the backend is given no KV blocks or no rows",
                     "CPU backend", "at least one of each"};
    const KernelTable* kernels = find_kernels("reference");
    if (!options.exact) {
        HOKKU_TRY(kernels, select_kernels());
    }
    auto team = std::make_unique<ThreadTeam>(options.num_threads > 0 ? options.num_threads
                                                                     : default_num_threads());
    const uint32_t num_lanes = team->size();
    HOKKU_TRY(StepBuffers buffers, StepBuffers::create(spec, num_lanes, options.max_step_tokens,
                                                       options.max_step_logits));
    HOKKU_TRY(KvPool kv, KvPool::create(spec, options.kv_type, options.num_kv_blocks));
    HOKKU_TRY(MatmulScratch matmul,
              MatmulScratch::create(
                  {.num_lanes = num_lanes,
                   .max_rows = std::max(options.max_step_tokens, options.max_step_logits),
                   .max_in = max_in_features(spec),
                   .max_fine_in = spec.dim}));
    HOKKU_TRY(AttentionScratch attention,
              AttentionScratch::create(attention_limits(spec, num_lanes)));
    ForwardMemory memory{std::move(buffers), std::move(kv), std::move(matmul),
                         std::move(attention)};
    return std::unique_ptr<Backend>(
        new CpuBackend(model, *kernels, options, std::move(team), std::move(memory)));
}

CpuBackend::CpuBackend(const Model& model, const KernelTable& kernels,
                       const BackendOptions& options, std::unique_ptr<ThreadTeam> team,
                       ForwardMemory memory)
    : model_(model),
      kernels_(kernels),
      options_(options),
      team_(std::move(team)),
      memory_(std::move(memory)) {
    info_.num_threads = team_->size();
    info_.kernels = kernels.name;
    info_.device = fmt::format("CPU {}, {} thread{}", kernels.name, info_.num_threads,
                               info_.num_threads == 1 ? "" : "s");
    info_.kv_bytes = memory_.kv.bytes();
    info_.scratch_bytes =
        memory_.buffers.memory.size_bytes() + memory_.matmul.bytes() + memory_.attention.bytes();
    info_.bytes_per_token = bytes_per_token(model.spec(), model.weights());
}

// ---- the step ----------------------------------------------------------------------------------

Result<void> CpuBackend::check_sequences(const Step& step) const {
    const ModelSpec& spec = model_.spec();
    uint64_t next_row = 0;
    for (const StepSequence& sequence : step.sequences) {
        if (sequence.first_row != next_row || sequence.num_rows == 0)
            return bad_step(fmt::format("a sequence has {} rows from row {}", sequence.num_rows,
                                        sequence.first_row),
                            fmt::format("at least one row, from row {}", next_row));
        next_row += sequence.num_rows;
        const uint64_t length = uint64_t{sequence.num_cached} + sequence.num_rows;
        if (sequence.blocks.size() * kKvBlockTokens < length)
            return bad_step(
                fmt::format("{} KV blocks are given for {} tokens", sequence.blocks.size(), length),
                fmt::format("blocks of {} tokens for all", kKvBlockTokens));
        for (const uint32_t block : sequence.blocks)
            if (block >= memory_.kv.num_blocks())
                return bad_step(fmt::format("the KV block is {}", block),
                                fmt::format("below {}", memory_.kv.num_blocks()));
        if (spec.num_learned_positions > 0 && length > spec.num_learned_positions)
            return Error{
                ErrorCode::limit_exceeded, fmt::format("the sequence has {} tokens", length),
                "model step",
                fmt::format("at most {}, the model's positions", spec.num_learned_positions)};
    }
    if (next_row != step.tokens.size())
        return bad_step(fmt::format("the sequences have {} rows", next_row),
                        fmt::format("{}, one for each token", step.tokens.size()));
    return {};
}

Result<void> CpuBackend::check(const Step& step) const {
    const ModelSpec& spec = model_.spec();
    if (step.tokens.empty() || step.tokens.size() > options_.max_step_tokens)
        return bad_step(fmt::format("the step has {} tokens", step.tokens.size()),
                        fmt::format("1 to {}", options_.max_step_tokens));
    if (step.logit_rows.size() > options_.max_step_logits)
        return bad_step(fmt::format("logits of {} rows are asked for", step.logit_rows.size()),
                        fmt::format("at most {}", options_.max_step_logits));
    for (const int32_t token : step.tokens)
        if (token < 0 || static_cast<uint32_t>(token) >= spec.num_vocab)
            return bad_step(fmt::format("the token id is {}", token),
                            fmt::format("0 to {}", spec.num_vocab - 1));
    uint64_t next = 0;
    for (const uint32_t row : step.logit_rows) {
        if (row < next || row >= step.tokens.size())
            return bad_step(fmt::format("logits of row {} are asked for", row),
                            fmt::format("ascending rows below {}", step.tokens.size()));
        next = uint64_t{row} + 1;
    }
    return check_sequences(step);
}

void CpuBackend::run_lanes() {
    team_->run(
        [](void* context, Lane lane) {
            auto& self = *static_cast<CpuBackend*>(context);
            Forward(self.model_, self.kernels_, self.memory_, self.state_, lane).run();
        },
        this);
}

Result<std::span<const float>> CpuBackend::run(const Step& step) {
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    if (owner_ != std::this_thread::get_id())
        return Error{ErrorCode::bad_argument, "the backend is used from a second thread",
                     "CPU backend", "the thread that ran its first step"};
    HOKKU_CHECK(check(step));

    uint64_t context = options_.context_tokens;
    if (context == 0) context = uint64_t{options_.num_kv_blocks} * kKvBlockTokens;
    state_.step = &step;
    state_.num_rows = static_cast<uint32_t>(step.tokens.size());
    state_.use_long_rope = false;
    for (const RopeSpec& rope : model_.spec().ropes)
        state_.use_long_rope |= !rope.long_inv_freq.empty() && context > rope.long_above_context;
    state_.find_nonfinite = false;
    state_.is_cancelled = false;
    state_.is_nonfinite = false;
    run_lanes();
    std::optional<Error> error;
    if (!state_.is_cancelled && state_.is_nonfinite) error = describe_nonfinite();
    state_.step = nullptr;  // it belongs to the caller, or to describe_nonfinite()
    if (state_.is_cancelled)
        return Error{ErrorCode::cancelled, "the step was cancelled", "model step", ""};
    if (error) return *std::move(error);
    return std::span<const float>(memory_.buffers.logits,
                                  step.logit_rows.size() * model_.spec().num_vocab);
}

/// Runs the failed step again (its KV is written over with the same values) and looks for the
/// first layer that gives values which are not finite.
Error CpuBackend::describe_nonfinite() {
    Step again = *state_.step;
    again.trace = nullptr;
    again.stop = {};
    state_.step = &again;
    state_.find_nonfinite = true;
    state_.nonfinite_layer = UINT32_MAX;
    run_lanes();
    const uint32_t layer = state_.nonfinite_layer;
    return Error{
        ErrorCode::numeric, "the logits are not finite numbers",
        layer == UINT32_MAX ? std::string("output head") : fmt::format("first in layer {}", layer),
        "finite values"};
}

void CpuBackend::copy_block(uint32_t from, uint32_t to) {
    memory_.kv.copy_block(from, to);
}

}  // namespace hokku::cpu

namespace hokku {

uint64_t cpu_kv_block_bytes(const Model& model, KvType type) {
    return cpu::KvPool::block_bytes(model.spec(), type);
}

bool cpu_kernels_are_reference() {
    const auto kernels = cpu::select_kernels();
    return kernels.ok() && (*kernels)->name == std::string_view("reference");
}

Result<std::unique_ptr<Backend>> make_cpu_backend(const Model& model,
                                                  const BackendOptions& options) {
    return cpu::CpuBackend::create(model, options);
}

}  // namespace hokku
