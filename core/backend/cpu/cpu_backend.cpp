// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backend/check_step.h"
#include "backend/cpu/kv_layout.h"
#include "backend/cpu/numa_topology.h"
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

}  // namespace

Result<std::unique_ptr<Backend>> CpuBackend::create(const Model& model,
                                                    const BackendOptions& options) {
    const ModelSpec& spec = model.spec();
    HOKKU_CHECK(check_features(spec));
    if (options.num_ranks == 0 || options.num_ranks > kMaxRanks)
        return Error{ErrorCode::bad_argument, fmt::format("{} ranks", options.num_ranks),
                     "CPU backend", fmt::format("1 to {}", kMaxRanks)};
    if (options.num_kv_blocks == 0 || options.max_step_tokens == 0)
        return Error{ErrorCode::bad_argument, "the backend is given no KV blocks or no rows",
                     "CPU backend", "at least one of each"};
    const KernelTable* kernels = find_kernels("reference");
    if (!options.exact) {
        HOKKU_TRY(kernels, select_kernels());
    }
    HOKKU_TRY(std::vector<ModelShard> shards,
              shard_model(spec, model.weights(), options.num_ranks));
    const uint32_t num_ranks = options.num_ranks;
    const uint32_t num_threads =
        options.num_threads > 0 ? options.num_threads : default_num_threads();
    const uint32_t num_wanted = num_ranks * std::max(num_threads / num_ranks, 1u);
    LanePlaces places = place_lanes(numa_nodes(), num_wanted);
    auto team = std::make_unique<ThreadTeam>(num_wanted, std::move(places.cpus));
    const uint32_t num_lanes = team->size() / num_ranks;
    if (num_lanes == 0)
        return Error{ErrorCode::device, fmt::format("the system gives {} threads", team->size()),
                     "CPU backend", fmt::format("{}, one for each rank", num_ranks)};
    Ranks ranks;
    for (ModelShard& shard : shards) {
        HOKKU_TRY(auto rank, Rank::create(std::move(shard), num_lanes, *kernels, options));
        const auto first_lane = static_cast<uint32_t>(ranks.size()) * num_lanes;
        rank->numa_nodes = places.nodes_of(first_lane, num_lanes);
        rank->memory.kv.place(rank->numa_nodes);
        ranks.push_back(std::move(rank));
    }
    AlignedBuffer all_logits;
    if (num_ranks > 1) {
        const uint64_t bytes = uint64_t{options.max_step_logits} * spec.num_vocab * sizeof(float);
        all_logits = AlignedBuffer(bytes);
        if (all_logits.data() == nullptr)
            return Error{ErrorCode::out_of_memory, "no memory for the logits", "CPU backend",
                         fmt::format("{} bytes", bytes)};
    }
    return std::unique_ptr<Backend>(new CpuBackend(model, *kernels, options, std::move(team),
                                                   std::move(ranks), std::move(all_logits)));
}

CpuBackend::CpuBackend(const Model& model, const KernelTable& kernels,
                       const BackendOptions& options, std::unique_ptr<ThreadTeam> team, Ranks ranks,
                       AlignedBuffer all_logits)
    : model_(model),
      kernels_(kernels),
      options_(options),
      team_(std::move(team)),
      ranks_(std::move(ranks)),
      num_lanes_(team_->size() / static_cast<uint32_t>(ranks_.size())),
      all_logits_(std::move(all_logits)) {
    const auto num_ranks = static_cast<uint32_t>(ranks_.size());
    if (num_ranks > 1) {
        group_ = std::make_unique<ThreadGroup>(num_ranks, num_lanes_);
        state_.all_logits = reinterpret_cast<float*>(all_logits_.data());
    }
    if (options_.before_layer) state_.before_layer = &options_.before_layer;
    info_.num_threads = num_ranks * num_lanes_;
    info_.kernels = kernels.name;
    info_.device = fmt::format("CPU {}, {}{} thread{}", kernels.name,
                               num_ranks > 1 ? fmt::format("{} ranks, ", num_ranks) : "",
                               info_.num_threads, info_.num_threads == 1 ? "" : "s");
    info_.scratch_bytes = all_logits_.size_bytes();
    info_.bytes_per_token = model.weights().embedding.row_bytes();
    info_.screens_head = ranks_.front()->memory.screen != nullptr;
    for (const auto& rank : ranks_) {
        info_.kv_bytes += rank->memory.kv.bytes();
        info_.scratch_bytes += rank->scratch_bytes();
        info_.bytes_per_token += rank->bytes_per_token();
        info_.rank_weight_bytes.push_back(weight_bytes(rank->shard.weights));
    }
}

// ---- the step ----------------------------------------------------------------------------------

/// Threads [r * num_lanes, (r + 1) * num_lanes) of the team are rank r's lanes.
void CpuBackend::run_lanes() {
    team_->run(
        [](void* context, Lane thread) {
            auto& self = *static_cast<CpuBackend*>(context);
            const uint32_t index = thread.index / self.num_lanes_;
            if (index >= self.ranks_.size()) return;  // left over
            Rank& rank = *self.ranks_[index];
            const Lane lane{thread.index % self.num_lanes_, self.num_lanes_, &rank.barrier};
            Communicator* others =
                self.group_ ? &self.group_->end(rank.shard.plan.rank, lane.index) : nullptr;
            Forward(rank.shard, self.kernels_, rank.memory, self.state_, lane, others).run();
        },
        this);
}

/// Which rows, and which of those with logits, are multiplied as in decoding.
void CpuBackend::count_vector_rows(const Step& step) {
    state_.num_vector_rows = 0;
    for (const StepSequence& sequence : step.sequences) {
        if (sequence.num_rows > kDecodeRows) break;
        state_.num_vector_rows += sequence.num_rows;
    }
    state_.num_vector_logits = 0;
    size_t next = 0;
    for (const StepSequence& sequence : step.sequences) {
        const size_t first = next;
        const uint32_t end = sequence.first_row + sequence.num_rows;
        while (next < step.logit_rows.size() && step.logit_rows[next] < end) ++next;
        if (next - first > kDecodeRows) break;
        state_.num_vector_logits = static_cast<uint32_t>(next);
    }
}

Result<std::span<const float>> CpuBackend::run(const Step& step) {
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    if (owner_ != std::this_thread::get_id())
        return Error{ErrorCode::bad_argument, "the backend is used from a second thread",
                     "CPU backend", "the thread that ran its first step"};
    HOKKU_CHECK(check_step(step, {.spec = &model_.spec(),
                                  .num_kv_blocks = num_kv_blocks(),
                                  .max_step_tokens = options_.max_step_tokens,
                                  .max_step_logits = options_.max_step_logits}));

    uint64_t context = options_.context_tokens;
    if (context == 0) context = uint64_t{options_.num_kv_blocks} * kKvBlockTokens;
    state_.step = &step;
    state_.num_rows = static_cast<uint32_t>(step.tokens.size());
    count_vector_rows(step);
    state_.use_long_rope = false;
    for (const RopeSpec& rope : model_.spec().ropes)
        state_.use_long_rope |= !rope.long_inv_freq.empty() && context > rope.long_above_context;
    state_.find_nonfinite = false;
    state_.is_cancelled = false;
    state_.is_nonfinite = false;
    HeadScreen* screen = ranks_.front()->memory.screen.get();
    const auto num_logits = static_cast<uint32_t>(step.logit_rows.size());
    const bool may_screen = step.trace == nullptr && state_.num_vector_logits == num_logits;
    if (screen) screen->begin_step(may_screen ? step.num_best : 0, num_logits);
    run_lanes();
    if (screen) screen->end_step(!state_.is_cancelled && !state_.is_nonfinite);
    std::optional<Error> error;
    if (!state_.is_cancelled && state_.is_nonfinite) error = describe_nonfinite();
    state_.step = nullptr;  // it belongs to the caller, or to describe_nonfinite()
    if (state_.is_cancelled)
        return Error{ErrorCode::cancelled, "the step was cancelled", "model step", ""};
    if (error) return *std::move(error);
    if (!model_.spec().part.is_last)
        return std::span<const float>(ranks_.front()->memory.buffers.x,
                                      step.tokens.size() * model_.spec().dim);
    const float* logits = group_ ? state_.all_logits : ranks_.front()->memory.buffers.logits;
    return std::span<const float>(logits, step.logit_rows.size() * model_.spec().num_vocab);
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
    return Error{ErrorCode::numeric, "the logits are not finite numbers",
                 layer == UINT32_MAX
                     ? std::string("output head")
                     : fmt::format("first in layer {}", model_.spec().part.first_layer + layer),
                 "finite values"};
}

void CpuBackend::copy_block(uint32_t from, uint32_t to) {
    for (const auto& rank : ranks_) rank->memory.kv.copy_block(from, to);
}

Result<void> CpuBackend::grow_kv(uint32_t num_blocks) {
    std::vector<KvPool> pools;
    for (const auto& rank : ranks_) {
        HOKKU_TRY(KvPool pool, KvPool::create(rank->shard.spec, options_.kv_type, num_blocks));
        pool.place(rank->numa_nodes);
        pools.push_back(std::move(pool));
    }
    // What LongRoPE takes does not change by this.
    if (options_.context_tokens == 0)
        options_.context_tokens = options_.num_kv_blocks * kKvBlockTokens;
    options_.num_kv_blocks = num_blocks;
    info_.kv_bytes = 0;
    for (size_t i = 0; i < ranks_.size(); ++i) {
        pools[i].take_blocks_of(ranks_[i]->memory.kv);
        ranks_[i]->memory.kv = std::move(pools[i]);
        info_.kv_bytes += ranks_[i]->memory.kv.bytes();
    }
    return {};
}

uint64_t CpuBackend::kv_block_bytes() const {
    return KvPool::block_bytes(model_.spec(), options_.kv_type);
}

// Ranks that share a KV head all have the same of it.
template <class Bytes, class Visit>
void CpuBackend::for_each_part(Bytes* block, Visit visit) const {
    const ModelSpec& spec = model_.spec();
    for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
        const AttentionSpec& attention = *spec.layers[layer].attention();
        const size_t key_bytes = kv_key_head_bytes(options_.kv_type, attention.key_dim);
        const size_t value_bytes = kv_value_head_bytes(options_.kv_type, attention.value_dim);
        Bytes* values = block + attention.num_kv_heads * key_bytes;
        for (const auto& rank : ranks_) {
            const size_t head = rank->shard.plan.layers[layer].kv_heads.begin;
            visit(rank->memory.kv, layer, block + head * key_bytes, values + head * value_bytes);
        }
        block = values + attention.num_kv_heads * value_bytes;
    }
}

void CpuBackend::read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const {
    assert(out.size() == kv_block_bytes());
    for_each_part(out.data(),
                  [&](const KvPool& kv, uint32_t layer, std::byte* keys, std::byte* values) {
                      kv.read_layer(layer, block, num_tokens, keys, values);
                  });
}

void CpuBackend::write_block(uint32_t block, std::span<const std::byte> bytes) {
    assert(bytes.size() == kv_block_bytes());
    for_each_part(bytes.data(),
                  [&](KvPool& kv, uint32_t layer, const std::byte* keys, const std::byte* values) {
                      kv.write_layer(layer, block, keys, values);
                  });
}

}  // namespace hokku::cpu

namespace hokku {

uint64_t cpu_kv_block_bytes(const ModelSpec& spec, KvType type) {
    return cpu::KvPool::block_bytes(spec, type);
}

uint64_t cpu_head_screen_bytes(const Model& model, const BackendOptions& options) {
    const auto kernels = cpu::select_kernels();
    const Weights& weights = model.weights();
    if (options.exact || !kernels.ok() ||
        !cpu::screens_head(model.spec(), weights, **kernels, options))
        return 0;
    return cpu::HeadScreen::copy_bytes(weights.head);
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
