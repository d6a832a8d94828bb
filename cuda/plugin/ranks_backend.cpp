// SPDX-License-Identifier: Apache-2.0
#include "plugin/ranks_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/check_step.h"
#include "backend/cpu/kv_layout.h"
#include "base/try.h"
#include "model/shard.h"
#include "plugin/host_embedding.h"
#include "plugin/ranks_trace.h"

namespace hokku::cuda {

// ---- threads -----------------------------------------------------------------------------------

RankThreads::RankThreads(uint32_t num_ranks) {
    for (uint32_t rank = 1; rank < num_ranks; ++rank)
        threads_.emplace_back([this, rank] { serve(rank); });
}

RankThreads::~RankThreads() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void RankThreads::run(const std::function<void(uint32_t)>& work) {
    {
        const std::lock_guard lock(mutex_);
        work_ = &work;
        num_busy_ = static_cast<uint32_t>(threads_.size());
        ++round_;
    }
    changed_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return num_busy_ == 0; });
}

void RankThreads::serve(uint32_t rank) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return is_ending_ || round_ != seen; });
        if (is_ending_) return;
        seen = round_;
        const auto& work = *work_;
        lock.unlock();
        work(rank);
        lock.lock();
        if (--num_busy_ == 0) changed_.notify_all();
    }
}

// ---- creation ----------------------------------------------------------------------------------

namespace {

/// Whether the rank has nothing to multiply in some layer, which no kernel is launched for.
bool has_empty_layer(const ModelSpec& whole, const ModelSpec& shard) {
    for (size_t i = 0; i < whole.layers.size(); ++i) {
        const FfnSpec &all = whole.layers[i].ffn, &own = shard.layers[i].ffn;
        if (!all.experts && own.hidden == 0) return true;
        if (!all.experts) continue;
        if (own.experts->hidden == 0) return true;
        if (all.experts->shared_hidden > 0 && own.experts->shared_hidden == 0) return true;
    }
    return false;
}

}  // namespace

Result<std::vector<GpuShard>> shard_for_gpus(const Model& model, uint32_t num_ranks) {
    const auto refuse = [&](const std::string& what) {
        return Error{ErrorCode::unsupported, "this model is not split over GPUs: " + what,
                     fmt::format("{} ranks", num_ranks), "fewer ranks"};
    };
    if (num_ranks > kMaxGpuRanks) return refuse(fmt::format("{} at most", kMaxGpuRanks));
    for (const LayerSpec& layer : model.spec().layers) {
        const AttentionSpec* attention = layer.attention();
        if (attention == nullptr) return refuse("it has mixers other than softmax attention");
        if (attention->qk_norm == QkNorm::whole) return refuse("it has norms over all heads");
    }
    HOKKU_TRY(std::vector<ModelShard> parts, shard_model(model.spec(), model.weights(), num_ranks));
    std::vector<GpuShard> shards;
    for (ModelShard& part : parts) {
        if (has_empty_layer(model.spec(), part.spec)) return refuse("a rank has no hidden values");
        std::vector<ShardRange> kv_heads;
        for (const LayerShare& layer : part.plan.layers) kv_heads.push_back(layer.kv_heads);
        part.spec.part.is_first = false;
        part.weights.embedding = part.weights.positions = {};
        shards.push_back(
            {model.with(std::move(part.spec), std::move(part.weights)), std::move(kv_heads)});
    }
    return shards;
}

RanksBackend::RanksBackend(const Model& model, std::span<const GpuShard> shards,
                           const BackendOptions& options)
    : model_(model),
      shards_(shards),
      options_(options),
      ranks_(shards.size()),
      threads_(static_cast<uint32_t>(shards.size())) {
    const ModelSpec& spec = model.spec();
    if (spec.part.is_first) hidden_.resize(size_t{options.max_step_tokens} * spec.dim);
    logits_.resize(size_t{std::max(options.max_step_logits, 1u)} * spec.num_vocab);
}

Result<std::unique_ptr<RanksBackend>> RanksBackend::create(
    std::span<const Gpu* const> gpus, const Model& model, std::span<const GpuShard> shards,
    const BackendOptions& options, const NcclApi& nccl, const CudaOptions& own,
    const std::function<Result<void>(double)>& report) {
    if (!model.spec().part.is_last) {
        return Error{ErrorCode::unsupported, "ranks have the last layers of a model", "GPUs", ""};
    }
    std::unique_ptr<RanksBackend> out(new RanksBackend(model, shards, options));
    out->gpus_.assign(gpus.begin(), gpus.end());
    HOKKU_TRY(auto ends, GpuCommunicator::create(nccl, gpus, own.all_reduce, model.spec().dim));
    uint32_t first_token = 0;
    for (size_t i = 0; i < shards.size(); ++i) {
        Rank& rank = out->ranks_[i];
        rank.others = std::move(ends[i]);
        rank.first_token = first_token;
        rank.num_tokens = shards[i].model.spec().num_vocab;
        first_token += rank.num_tokens;
    }
    const auto start = [&](Rank& rank, uint32_t index) -> Result<void> {
        CudaOptions rank_options = own;
        rank_options.others = rank.others.get();
        const auto rank_report = [&](double share) {
            return index == 0 ? report(share) : Result<void>();
        };
        HOKKU_TRY(rank.backend, CudaBackend::create(*gpus[index], shards[index].model, options,
                                                    rank_report, rank_options));
        rank.block.resize(rank.backend->kv_block_bytes());
        return {};
    };
    HOKKU_CHECK(out->run_ranks(true, start));
    out->take_info();
    return out;
}

/// What a rank still does may write to the memory of others.
RanksBackend::~RanksBackend() {
    for (const Gpu* gpu : gpus_) {
        if (gpu->make_current().ok()) gpu->api().stream_synchronize(gpu->stream());
    }
}

void RanksBackend::take_info() {
    const BackendInfo& first = ranks_.front().backend->info();
    info_ = first;
    info_.device = fmt::format("{}, {} ranks", first.device, ranks_.size());
    info_.kv_bytes = info_.scratch_bytes = 0;
    info_.bytes_per_token =
        model_.spec().part.is_first ? model_.weights().embedding.row_bytes() : 0;
    info_.rank_weight_bytes.clear();
    for (const Rank& rank : ranks_) {
        const BackendInfo& info = rank.backend->info();
        info_.kv_bytes += info.kv_bytes;
        info_.scratch_bytes += info.scratch_bytes;
        info_.bytes_per_token += info.bytes_per_token;
        info_.rank_weight_bytes.push_back(info.rank_weight_bytes.front());
    }
}

// ---- the step ----------------------------------------------------------------------------------

/// What a rank whose device failed does not do, the others would wait for.
Result<void> RanksBackend::run_ranks(bool do_meet,
                                     const std::function<Result<void>(Rank&, uint32_t)>& work) {
    if (lost_) return *lost_;
    // Ranks look at arguments before their first collective and at numbers behind the last one, so
    // that nobody waits for a rank that has ended with such an error.
    const auto ends_all = [do_meet](const Error& error) {
        return do_meet && error.code != ErrorCode::numeric && error.code != ErrorCode::bad_argument;
    };
    std::optional<Error> first;  // Before others failed of it.
    for (Rank& rank : ranks_) rank.has_ended = false;
    threads_.run([&](uint32_t index) {
        Rank& rank = ranks_[index];
        const Result<void> done = work(rank, index);
        std::unique_lock lock(ending_);
        const bool has_other_ended_all = is_ending_;
        if (!done.ok() && !has_other_ended_all) {
            is_ending_ = ends_all(done.error());
            if (!first || is_ending_) first = done.error();
        }
        rank.has_ended = true;
        if (!is_ending_) return;
        if (!has_other_ended_all) return end_all(lock);
        lock.unlock();
        if (rank.backend != nullptr) rank.backend->drop_graphs();
    });
    if (!first) return {};
    if (is_ending_) {
        lost_ = first;
        // For the engine: what there was is gone, whatever the reason.
        if (ranks_.front().backend != nullptr) lost_->code = ErrorCode::device;
        if (first->code == ErrorCode::cancelled) lost_->code = ErrorCode::cancelled;
        return *lost_;
    }
    return *std::move(first);
}

/// Graphs first, as communicators wait for those that hold their calls: the own
/// ones and those of ranks that have ended. The others drop theirs when they
/// end, which they do once their own communicators are aborted.
void RanksBackend::end_all(std::unique_lock<std::mutex>& lock) {
    for (Rank& rank : ranks_) {
        if (rank.has_ended && rank.backend != nullptr) rank.backend->drop_graphs();
    }
    lock.unlock();
    std::vector<GpuCommunicator*> ends;
    for (const Rank& rank : ranks_) ends.push_back(rank.others.get());
    GpuCommunicator::abort_all(ends);
}

Result<std::span<const float>> RanksBackend::run(const Step& step) {
    const ModelSpec& spec = model_.spec();
    // Ranks look at the blocks themselves.
    HOKKU_CHECK(check_step(step, {.spec = &spec,
                                  .num_kv_blocks = UINT32_MAX,
                                  .max_step_tokens = options_.max_step_tokens,
                                  .max_step_logits = options_.max_step_logits}));
    if (step.stop.stop_requested())
        return Error{ErrorCode::cancelled, "the step was cancelled", "model step", ""};
    Step own = step;
    own.stop = {};
    if (spec.part.is_first) {
        for (const StepSequence& sequence : step.sequences) {
            for (uint32_t i = 0; i < sequence.num_rows; ++i) {
                const size_t row = size_t{sequence.first_row} + i;
                look_up_row(model_, step.tokens[row], sequence.num_cached + i,
                            {hidden_.data() + row * spec.dim, spec.dim}, scratch_);
            }
        }
        own.hidden = {hidden_.data(), step.tokens.size() * spec.dim};
        if (step.trace != nullptr) step.trace->on_values("embed", own.hidden.last(spec.dim));
    }
    std::optional<RanksTrace> trace;
    if (step.trace != nullptr)
        trace.emplace(static_cast<uint32_t>(ranks_.size()), step.trace->stages);
    HOKKU_CHECK(run_ranks(true, [&](Rank& rank, uint32_t index) -> Result<void> {
        Step rank_step = own;
        if (trace) rank_step.trace = &trace->of(index);
        HOKKU_TRY(rank.logits, rank.backend->run(rank_step));
        return {};
    }));
    if (trace) {
        std::vector<std::vector<ShardRange>> kv_heads;
        for (const GpuShard& shard : shards_) kv_heads.push_back(shard.kv_heads);
        trace->tell(*step.trace, spec, kv_heads);
    }
    for (const Rank& rank : ranks_) {
        for (size_t row = 0; row < step.logit_rows.size(); ++row) {
            std::copy_n(
                rank.logits.begin() + static_cast<ptrdiff_t>(row * rank.num_tokens),
                rank.num_tokens,
                logits_.begin() + static_cast<ptrdiff_t>(row * spec.num_vocab + rank.first_token));
        }
    }
    return std::span<const float>(logits_).first(step.logit_rows.size() * spec.num_vocab);
}

// ---- KV blocks ---------------------------------------------------------------------------------

void RanksBackend::copy_block(uint32_t from, uint32_t to) {
    for (Rank& rank : ranks_) rank.backend->copy_block(from, to);
}

uint64_t RanksBackend::kv_block_bytes() const {
    uint64_t bytes = 0;
    for (const LayerSpec& layer : model_.spec().layers) {
        const AttentionSpec& attention = *layer.attention();
        bytes += attention.num_kv_heads *
                 (cpu::kv_key_head_bytes(options_.kv_type, attention.key_dim) +
                  cpu::kv_value_head_bytes(options_.kv_type, attention.value_dim));
    }
    return bytes;
}

// Layer by layer the keys of all heads, then the values; a rank's part is of its own heads. Ranks
// that share a KV head all have the same of it.
template <class Visit>
void RanksBackend::for_each_part(Visit visit) const {
    const ModelSpec& spec = model_.spec();
    std::vector<size_t> at(ranks_.size(), 0);
    size_t block = 0;
    for (uint32_t layer = 0; layer < spec.num_layers; ++layer) {
        const AttentionSpec& attention = *spec.layers[layer].attention();
        for (const size_t bytes :
             {cpu::kv_key_head_bytes(options_.kv_type, attention.key_dim),
              cpu::kv_value_head_bytes(options_.kv_type, attention.value_dim)}) {
            for (size_t i = 0; i < ranks_.size(); ++i) {
                const ShardRange heads = shards_[i].kv_heads[layer];
                visit(ranks_[i], at[i], block + heads.begin * bytes, heads.size() * bytes);
                at[i] += heads.size() * bytes;
            }
            block += attention.num_kv_heads * bytes;
        }
    }
}

void RanksBackend::read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const {
    for (Rank& rank : ranks_) rank.backend->read_block(block, num_tokens, rank.block);
    for_each_part([&](const Rank& rank, size_t own, size_t whole, size_t bytes) {
        std::memcpy(out.data() + whole, rank.block.data() + own, bytes);
    });
}

void RanksBackend::write_block(uint32_t block, std::span<const std::byte> bytes) {
    for_each_part([&](Rank& rank, size_t own, size_t whole, size_t count) {
        std::memcpy(rank.block.data() + own, bytes.data() + whole, count);
    });
    for (Rank& rank : ranks_) rank.backend->write_block(block, rank.block);
}

/// Where one rank has no memory the others have blocks too many, which do no harm.
Result<void> RanksBackend::grow_kv(uint32_t num_blocks) {
    HOKKU_CHECK(run_ranks(false, [&](Rank& rank, uint32_t) -> Result<void> {
        return rank.backend->grow_kv(num_blocks);
    }));
    take_info();
    return {};
}

std::optional<uint64_t> RanksBackend::growth_blocks(uint64_t machine_bytes) const {
    uint64_t least = UINT64_MAX;
    for (const Rank& rank : ranks_)
        least = std::min(least, rank.backend->growth_blocks(machine_bytes).value_or(0));
    return least;
}

}  // namespace hokku::cuda
