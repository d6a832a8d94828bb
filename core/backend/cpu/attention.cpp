// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "backend/backend.h"
#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/kv_layout.h"
#include "base/aligned_buffer.h"
#include "base/round_up.h"

namespace hokku::cpu {

namespace {

/// Tiles times KV splits of one call that the lanes share split by split (few rows).
constexpr uint32_t kMaxPartials = 512;
/// KV splits of a row, at most.
constexpr uint32_t kMaxSplits = 32;
/// Blocks of one KV split, at least. The cut depends on the lengths alone, never on the number of
/// lanes, so that results do not either.
constexpr uint32_t kMinSplitBlocks = 2;

struct TilePart {
    float* sums;  // [kAttentionTile][value_dim]
    float* maxima;
    float* weights;
};

}  // namespace

struct AttentionScratch::State {
    AttentionLimits limits;
    AlignedBuffer buffer;
    /// [2 * kMaxPartials + num_lanes * kMaxSplits][kAttentionTile][max_value_dim]
    float* sums = nullptr;
    float* maxima = nullptr;
    float* weights = nullptr;
    /// [num_lanes][kCounterStride]: calls with splits that the lane has begun. Successive ones use
    /// the two sets of parts in turn: a lane that begins call k + 2 has passed the barrier of k +
    /// 1, so that all lanes have read the parts of k.
    uint32_t* split_calls = nullptr;
    static constexpr size_t kCounterStride = 16;
    /// Next part to hand out of a call with splits; successive calls use them in turn.
    struct alignas(64) NextPart {
        std::atomic<uint32_t> index{0};
    } next_part[2];

    void lay_out(BufferLayout& layout) {
        const size_t num_parts = size_t{2} * kMaxPartials + size_t{limits.num_lanes} * kMaxSplits;
        sums = layout.take<float>(num_parts * kAttentionTile * limits.max_value_dim);
        maxima = layout.take<float>(num_parts * 2 * kAttentionTile);
        weights = maxima ? maxima + kAttentionTile : nullptr;
        split_calls = layout.take<uint32_t>(size_t{limits.num_lanes} * kCounterStride);
    }

    [[nodiscard]] TilePart part(uint32_t index) const {
        return {sums + size_t{index} * kAttentionTile * limits.max_value_dim,
                maxima + size_t{index} * 2 * kAttentionTile,
                weights + size_t{index} * 2 * kAttentionTile};
    }
    [[nodiscard]] TilePart lane_part(uint32_t lane, uint32_t split) const {
        return part(2 * kMaxPartials + lane * kMaxSplits + split);
    }
    /// The set of parts (0 or 1) of the call with splits that the lane begins.
    [[nodiscard]] uint32_t begin_split_call(uint32_t lane) {
        const uint32_t turn = split_calls[lane * kCounterStride]++ % 2;
        // All lanes have passed the barrier of the call before: none takes from its counter any
        // more, nor from the next call's before this lane has met them again.
        if (lane == 0) next_part[1 - turn].index.store(0, std::memory_order_relaxed);
        return turn;
    }
};

AttentionScratch::AttentionScratch(std::unique_ptr<State> state) : state_(std::move(state)) {}
AttentionScratch::AttentionScratch(AttentionScratch&&) noexcept = default;
AttentionScratch& AttentionScratch::operator=(AttentionScratch&&) noexcept = default;
AttentionScratch::~AttentionScratch() = default;
size_t AttentionScratch::bytes() const {
    return state_->buffer.size_bytes();
}

Result<AttentionScratch> AttentionScratch::create(const AttentionLimits& limits) {
    auto state = std::make_unique<State>();
    state->limits = limits;
    BufferLayout sizes;
    state->lay_out(sizes);
    state->buffer = AlignedBuffer(sizes.used_bytes());
    if (!state->buffer.data()) {
        return Error{ErrorCode::out_of_memory, "no memory for the scratch of attention",
                     "CPU backend", std::to_string(sizes.used_bytes()) + " bytes"};
    }
    BufferLayout layout(state->buffer.data());
    state->lay_out(layout);
    return AttentionScratch(std::move(state));
}

namespace {

/// The cut of a call into tiles of queries and splits of the KV.
struct Plan {
    uint32_t group, tiles_per_head, num_tiles;
    uint32_t first_block, end_block;                 // Blocks that any row sees.
    uint32_t split_blocks, first_split, num_splits;  // Split s: blocks from s * split_blocks on.
};

/// Blocks of a split for the row at `position`. It depends on nothing else: sums depend on the cut,
/// and a row is to give the same bits alone, among guesses and in a prompt of any length.
uint32_t split_blocks_at(const AttentionCall& call, uint32_t position) {
    constexpr uint32_t kCutEnds = 2;  // A window begins and ends within a split.
    uint32_t num_blocks = position / kKvBlockTokens + 1;
    if (call.window > 0) num_blocks = std::min(num_blocks, (call.window - 1) / kKvBlockTokens + 2);
    uint32_t split_blocks = kMinSplitBlocks;
    while (ceil_div(num_blocks, split_blocks) + kCutEnds > kMaxSplits) split_blocks *= 2;
    return split_blocks;
}

/// The first block that the row at `position` sees.
uint32_t first_block_at(const AttentionCall& call, uint32_t position) {
    const bool is_cut = call.window > 0 && position >= call.window;
    return is_cut ? (position - call.window + 1) / kKvBlockTokens : 0;
}

Plan make_plan(const AttentionCall& call) {
    Plan plan{};
    plan.group = call.num_heads / call.num_kv_heads;
    plan.tiles_per_head = ceil_div(call.num_rows * plan.group, kAttentionTile);
    plan.num_tiles = plan.tiles_per_head * call.num_kv_heads;
    const uint32_t num_positions = call.first_position + call.num_rows;
    plan.end_block = ceil_div(num_positions, kKvBlockTokens);
    plan.first_block = first_block_at(call, call.first_position);
    plan.split_blocks = split_blocks_at(call, num_positions - 1);
    plan.first_split = plan.first_block / plan.split_blocks;
    plan.num_splits = ceil_div(plan.end_block, plan.split_blocks) - plan.first_split;
    return plan;
}

/// Rows from `first` on whose cut is the same, and which see no more than kMaxSplits together:
/// their windows reach further than one does.
uint32_t count_rows_of_one_cut(const AttentionCall& call, uint32_t first) {
    const uint32_t position = call.first_position + first;
    const uint32_t blocks = split_blocks_at(call, position);
    const uint64_t end_split = first_block_at(call, position) / blocks + uint64_t{kMaxSplits};
    uint32_t count = 1;
    while (first + count < call.num_rows && split_blocks_at(call, position + count) == blocks &&
           position + count < end_split * blocks * kKvBlockTokens)
        ++count;
    return count;
}

AttentionTile describe_tile(const AttentionCall& call, const Plan& plan, uint32_t tile_index,
                            uint32_t split, const TilePart& part) {
    const uint32_t kv_head = tile_index / plan.tiles_per_head;
    const uint32_t first_query = tile_index % plan.tiles_per_head * kAttentionTile;
    const uint32_t queries = call.num_rows * plan.group;
    const uint32_t first_block = (plan.first_split + split) * plan.split_blocks;
    const uint32_t begin = std::max(first_block, plan.first_block) * kKvBlockTokens;
    const uint32_t end = std::min((first_block + plan.split_blocks) * kKvBlockTokens,
                                  call.first_position + call.num_rows);
    return {.q = call.q + size_t{kv_head} * plan.group * call.key_dim,
            .q_stride = call.q_stride,
            .group = plan.group,
            .first_query = first_query,
            .num_queries = std::min(kAttentionTile, queries - first_query),
            .kv_type = call.kv.type,
            .keys = call.kv.keys + kv_head * kv_key_head_bytes(call.kv.type, call.key_dim),
            .values = call.kv.values + kv_head * kv_value_head_bytes(call.kv.type, call.value_dim),
            .key_block_stride = call.kv.key_block_stride,
            .value_block_stride = call.kv.value_block_stride,
            .blocks = call.kv.blocks,
            .key_dim = call.key_dim,
            .value_dim = call.value_dim,
            .scale = call.scale,
            .logit_softcap = call.logit_softcap,
            .window = call.window,
            .first_position = call.first_position,
            .begin = begin,
            .end = end,
            .sums = part.sums,
            .maxima = part.maxima,
            .weights = part.weights};
}

/// Joins the splits of query number i of a tile and writes its row of the output.
/// `part_of(s)` is split s.
template <class PartOf>
void write_query(const AttentionCall& call, const Plan& plan, uint32_t tile_index, uint32_t i,
                 PartOf part_of) {
    const uint32_t query = tile_index % plan.tiles_per_head * kAttentionTile + i;
    const uint32_t head = tile_index / plan.tiles_per_head * plan.group + query % plan.group;
    float max = call.sinks ? call.sinks[head] : -INFINITY;
    for (uint32_t s = 0; s < plan.num_splits; ++s) {
        const TilePart part = part_of(s);
        if (part.weights[i] != 0.0f) max = std::max(max, part.maxima[i]);
    }
    float weight = call.sinks ? std::exp(call.sinks[head] - max) : 0.0f;
    for (uint32_t s = 0; s < plan.num_splits; ++s) {
        const TilePart part = part_of(s);
        if (part.weights[i] != 0.0f) weight += part.weights[i] * std::exp(part.maxima[i] - max);
    }
    float* out = call.out + query / plan.group * call.out_stride + size_t{head} * call.value_dim;
    bool is_first = true;
    for (uint32_t s = 0; s < plan.num_splits; ++s) {
        const TilePart part = part_of(s);
        if (part.weights[i] == 0.0f) continue;
        const float factor = std::exp(part.maxima[i] - max) / weight;
        const float* sums = part.sums + size_t{i} * call.value_dim;
        for (uint32_t d = 0; d < call.value_dim; ++d) {
            out[d] = is_first ? factor * sums[d] : out[d] + factor * sums[d];
        }
        is_first = false;
    }
    if (is_first) std::fill_n(out, call.value_dim, 0.0f);
}

uint32_t count_queries(const AttentionCall& call, const Plan& plan, uint32_t tile) {
    return std::min(kAttentionTile,
                    call.num_rows * plan.group - tile % plan.tiles_per_head * kAttentionTile);
}

/// Many tiles: a lane does all splits of one, then joins them. Later rows see more positions:
/// dealing the tiles out in turn evens the lanes' work.
void attend_by_tiles(const Lane& lane, const KernelTable& kernels,
                     const AttentionScratch::State& state, const AttentionCall& call,
                     const Plan& plan) {
    const auto part_of = [&](uint32_t split) { return state.lane_part(lane.index, split); };
    for (uint32_t tile = lane.index; tile < plan.num_tiles; tile += lane.count) {
        for (uint32_t split = 0; split < plan.num_splits; ++split)
            kernels.attention->run_tile(describe_tile(call, plan, tile, split, part_of(split)));
        for (uint32_t i = 0; i < count_queries(call, plan, tile); ++i)
            write_query(call, plan, tile, i, part_of);
    }
}

/// Few tiles: the lanes take the splits of all of them in turn, each when it is done with one.
void attend_by_splits(const Lane& lane, const KernelTable& kernels, AttentionScratch::State& state,
                      const AttentionCall& call, const Plan& plan) {
    const uint32_t turn = state.begin_split_call(lane.index);
    const uint32_t first_part = turn * kMaxPartials;
    const uint32_t num_parts = plan.num_tiles * plan.num_splits;
    std::atomic<uint32_t>& next = state.next_part[turn].index;
    while (true) {
        const uint32_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= num_parts) break;
        const uint32_t tile = index / plan.num_splits, split = index % plan.num_splits;
        kernels.attention->run_tile(
            describe_tile(call, plan, tile, split, state.part(first_part + index)));
    }
    lane.barrier();
    for (uint32_t item = lane.index; item < plan.num_tiles * kAttentionTile; item += lane.count) {
        const uint32_t tile = item / kAttentionTile, i = item % kAttentionTile;
        if (i >= count_queries(call, plan, tile)) continue;
        write_query(call, plan, tile, i, [&](uint32_t s) {
            return state.part(first_part + tile * plan.num_splits + s);
        });
    }
}

/// All rows have the same cut.
void attend(const Lane& lane, const KernelTable& kernels, AttentionScratch::State& state,
            const AttentionCall& call) {
    const Plan plan = make_plan(call);
    if (plan.num_splits > 1 && plan.num_tiles * plan.num_splits <= kMaxPartials)
        attend_by_splits(lane, kernels, state, call, plan);
    else
        attend_by_tiles(lane, kernels, state, call, plan);
}

}  // namespace

void attention(const Lane& lane, const KernelTable& kernels, AttentionScratch& scratch,
               const AttentionCall& call) {
    for (uint32_t first = 0; first < call.num_rows;) {
        AttentionCall rows = call;
        rows.num_rows = count_rows_of_one_cut(call, first);
        rows.first_position += first;
        rows.q += first * call.q_stride;
        rows.out += first * call.out_stride;
        attend(lane, kernels, scratch.state(), rows);
        first += rows.num_rows;
    }
}

}  // namespace hokku::cpu
