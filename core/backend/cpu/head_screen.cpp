// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/head_screen.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "backend/cpu/matmul_kernels.h"
#include "backend/dequantize.h"
#include "backend/half.h"

namespace hokku::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint32_t kBlock = 32, kBlockBytes = 18;  // Q4_0: a half, then 16 times two codes.
/// Of 64 columns 26 % of Qwen2.5-Coder-0.5B's tokens stay for the 40 best, of 128 15 %, of Gemma 3
/// 270M's 23 and 8 % (texts of 2026-11); each block of 32 takes 18 bytes a row.
constexpr uint32_t kMaxColumns = 128;
constexpr uint32_t kObservedRows = 16;
constexpr uint32_t kCopySteps = 64;  // Each a little slower, instead of one that stalls.
/// A copy that is not this much smaller than the head is not worth its memory.
constexpr double kUsefulShare = 0.8;
/// Of what the head takes, when screening is given up for a while. A row read by itself costs as
/// much as so many in a stream (a Xeon with AMX, Gemma's and Qwen's heads, 2026-11).
constexpr double kPayingShare = 0.95, kRowCost = 8;
/// A trial is of so many steps; rests grow from one to the next until a trial pays.
constexpr uint32_t kRecentSteps = 4, kFirstRest = 128;

/// Products with x, of the head or of the copy, are off by less than this part of both norms. Two
/// planes of int8 leave of x at most 1 / (127 * 256) of the largest of each 32 values, which is at
/// most sqrt(32) times that of their norm: 1.74e-4. Float32 rounds each of the sums of a block.
double product_error(uint32_t cols) {
    return 1.8e-4 + cols * 0x1p-24;
}

bool has_vector_kernel(const KernelTable& kernels, TensorType type) {
    return kernels.matmul->gemv[static_cast<uint32_t>(type)].run != nullptr;
}

uint32_t columns_for(uint32_t dim) {
    return std::min(kMaxColumns, dim / 4 / kBlock * kBlock);
}

/// One block of Q4_0, and what it leaves of the values, in their place.
void encode_block(float* values, uint8_t* out) {
    float low = 0, high = 0;
    for (uint32_t i = 0; i < kBlock; ++i) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    // The larger side takes code -8.
    const uint16_t half = float_to_half((high > -low ? high : low) / -8.0f);
    const float step = half_to_float(half);
    const float inverse = step != 0.0f ? 1.0f / step : 0.0f;
    uint8_t codes[kBlock];
    for (uint32_t i = 0; i < kBlock; ++i) {
        const float scaled = std::clamp(values[i] * inverse + 8.5f, 0.0f, 15.0f);
        const auto code = static_cast<int32_t>(scaled);
        codes[i] = static_cast<uint8_t>(code);
        values[i] -= static_cast<float>(code - 8) * step;
    }
    std::memcpy(out, &half, sizeof half);
    for (uint32_t i = 0; i < kBlock / 2; ++i)
        out[2 + i] = static_cast<uint8_t>(codes[i] | codes[i + kBlock / 2] << 4);
}

/// The largest of what n products can be at most, and of what they are at least.
struct Extremes {
    float most, least;
};
Extremes extremes_of(const float* estimates, const float* errors, uint32_t n, float factor,
                     float addend) {
    constexpr uint32_t kWidth = 16;  // Side by side, for the compiler's vectors.
    float most[kWidth], least[kWidth];
    std::fill_n(most, kWidth, -kInfinity);
    std::fill_n(least, kWidth, -kInfinity);
    const auto look_at = [&](uint32_t i, uint32_t j) {
        const float error = errors[i] * factor + addend;
        const float upper = estimates[i] + error, lower = estimates[i] - error;
        most[j] = upper > most[j] ? upper : most[j];
        least[j] = lower > least[j] ? lower : least[j];
    };
    uint32_t i = 0;
    for (; i + kWidth <= n; i += kWidth)
        for (uint32_t j = 0; j < kWidth; ++j) look_at(i + j, j);
    for (; i < n; ++i) look_at(i, 0);
    return {*std::max_element(most, most + kWidth), *std::max_element(least, least + kWidth)};
}

double square_sum(const float* x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
}

}  // namespace

bool HeadScreen::is_useful(const WeightMatrix& head, const KernelTable& kernels) {
    if (head.cols % kBlock != 0 || head.rows < std::max(64 * kGroup, head.cols)) return false;
    if (!has_vector_kernel(kernels, head.type) || !has_vector_kernel(kernels, TensorType::q4_0))
        return false;
    return static_cast<double>(copy_bytes(head)) <=
           kUsefulShare * static_cast<double>(head.rows * head.row_bytes());
}

uint64_t HeadScreen::copy_bytes(const WeightMatrix& head) {
    return uint64_t{head.rows} * (row_values(head.cols) / kBlock * kBlockBytes);
}

uint32_t HeadScreen::row_values(uint32_t dim) {
    return dim + columns_for(dim);
}

HeadScreen::HeadScreen(const WeightMatrix& head, const KernelTable& kernels, const Limits& limits)
    : head_(head),
      kernels_(kernels),
      limits_(limits),
      num_columns_(columns_for(head.cols)),
      num_groups_(head.rows / kGroup + limits.num_lanes + 1),
      lanes_(limits.num_lanes) {
    const uint32_t values = head.cols + num_columns_;
    copy_ = {.data = nullptr,
             .type = TensorType::q4_0,
             .rows = head.rows,
             .cols = values,
             .row_stride = values / kBlock * kBlockBytes};
}

void HeadScreen::lay_out(BufferLayout& layout) {
    blocks_ = layout.take<uint8_t>(copy_.rows * copy_.row_stride);
    errors_ = layout.take<float>(copy_.rows);
    group_most_ = layout.take<float>(size_t{limits_.max_rows} * num_groups_);
    group_least_ = layout.take<float>(size_t{limits_.max_rows} * num_groups_);
    squares_ = layout.take<double>(head_.cols);
    order_ = layout.take<uint32_t>(head_.cols);
    for (LaneMemory& lane : lanes_) {
        lane.x = layout.take<float>(size_t{limits_.max_rows} * copy_.cols);
        lane.values = layout.take<float>(head_.cols);
        lane.left = layout.take<float>(head_.cols);
        lane.sorted = layout.take<float>(num_groups_);
        lane.bounds = layout.take<Bound>(limits_.max_rows);
        lane.at_least = layout.take<float>(limits_.max_rows);
    }
}

Result<std::unique_ptr<HeadScreen>> HeadScreen::create(const WeightMatrix& head,
                                                       const KernelTable& kernels,
                                                       const Limits& limits) {
    std::unique_ptr<HeadScreen> screen(new HeadScreen(head, kernels, limits));
    BufferLayout sizes;
    screen->lay_out(sizes);
    screen->memory_ = AlignedBuffer(sizes.used_bytes());
    if (screen->memory_.data() == nullptr)
        return Error{ErrorCode::out_of_memory, "no memory for the copy of the output head",
                     "CPU backend", fmt::format("{} bytes", sizes.used_bytes())};
    BufferLayout layout(screen->memory_.data());
    screen->lay_out(layout);
    screen->copy_.data = reinterpret_cast<const std::byte*>(screen->blocks_);
    return screen;
}

// ---- between steps -----------------------------------------------------------------------------

void HeadScreen::begin_step(uint32_t num_best, uint32_t num_rows) {
    num_best_ = num_best;
    num_rows_ = num_rows;
    mode_ = Mode::off;
    // With more of the best than groups nothing is known of the last of them.
    const bool may_screen =
        num_best > 0 && num_best <= num_groups_ / 2 && num_rows > 0 && num_rows <= limits_.max_rows;
    if (!may_screen) return;
    if (num_observed_ < kObservedRows) {
        mode_ = Mode::observe;
        return;
    }
    if (!std::exchange(has_order_, true)) choose_columns();
    if (next_row_ < head_.rows) {
        mode_ = Mode::copy;
        return;
    }
    if (num_best != tried_best_) {
        if (num_best < tried_best_) rest_ = num_resting_ = 0;  // Fewer tokens stay.
        tried_best_ = num_best;
        num_recent_ = 0;
        recent_computed_ = 0;
    }
    if (num_resting_ > 0) {
        --num_resting_;
    } else {
        mode_ = Mode::screen;
    }
}

void HeadScreen::end_step(bool is_complete) {
    const Mode mode = mode_;
    mode_ = Mode::off;  // What runs without begin_step() computes all.
    uint64_t computed = 0;
    for (LaneMemory& lane : lanes_) computed += std::exchange(lane.num_computed, 0);
    if (!is_complete) return;
    if (mode == Mode::copy) {
        next_row_ = std::min(next_row_ + head_.rows / kCopySteps + 1, head_.rows);
        for (const LaneMemory& lane : lanes_)
            largest_norm_ = std::max(largest_norm_, lane.largest_norm);
    }
    if (mode != Mode::screen) return;
    num_computed_ += computed;
    num_screened_ += head_.rows;
    recent_computed_ += computed;
    if (++num_recent_ < kRecentSteps) return;
    const double share = static_cast<double>(std::exchange(recent_computed_, 0)) /
                         (static_cast<double>(std::exchange(num_recent_, 0)) * head_.rows);
    const double copied =
        static_cast<double>(copy_.row_stride) / static_cast<double>(head_.row_bytes());
    const bool pays = copied + kRowCost * share <= kPayingShare;
    rest_ = pays ? 0 : std::min(std::max(2 * rest_, kFirstRest), limits_.longest_rest);
    num_resting_ = rest_;
}

/// The columns in which x was largest come last.
void HeadScreen::choose_columns() {
    const uint32_t num_ordinary = head_.cols - num_columns_;
    std::iota(order_, order_ + head_.cols, 0u);
    std::nth_element(order_, order_ + num_ordinary, order_ + head_.cols,
                     [this](uint32_t a, uint32_t b) {
                         return squares_[a] != squares_[b] ? squares_[a] < squares_[b] : a < b;
                     });
    std::sort(order_, order_ + num_ordinary);
    std::sort(order_ + num_ordinary, order_ + head_.cols);
    double ordinary = 0, large = 0;
    for (uint32_t i = 0; i < head_.cols; ++i)
        (i < num_ordinary ? ordinary : large) += squares_[order_[i]];
    // The bound is smallest where errors weigh as x does. The errors in the large columns, of four
    // bits twice, are about a thirtieth of those in the others.
    const double ratio = std::sqrt(large / std::max(ordinary, 1e-30 + 1e-9 * large));
    if (std::isfinite(ratio) && ratio > 0)
        column_weight_ = static_cast<float>(std::sqrt(30.0 * ratio));
}

double HeadScreen::share_computed() const {
    return num_screened_ > 0
               ? static_cast<double>(num_computed_) / static_cast<double>(num_screened_)
               : 1.0;
}

// ---- within a step -----------------------------------------------------------------------------

void HeadScreen::observe(const MatmulInput& x) {
    for (uint32_t row = 0; row < x.num_rows; ++row) {
        const float* values = x.x + row * x.stride;
        if (!std::isfinite(square_sum(values, head_.cols))) continue;
        for (uint32_t i = 0; i < head_.cols; ++i)
            squares_[i] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        ++num_observed_;
    }
}

void HeadScreen::copy_part(const Lane& lane) {
    const uint32_t count = std::min(head_.rows / kCopySteps + 1, head_.rows - next_row_);
    const Lane::Range share = lane.share(count);
    for (uint32_t i = share.begin; i < share.end; ++i) copy_row(lanes_[lane.index], next_row_ + i);
}

void HeadScreen::copy_row(LaneMemory& own, uint32_t row) const {
    const uint32_t dim = head_.cols, num_ordinary = dim - num_columns_;
    uint8_t* out = blocks_ + row * copy_.row_stride;
    const std::byte* source = head_.data + row * head_.row_stride;
    const auto decode = kernels_.matmul->decode[static_cast<uint32_t>(head_.type)];
    if (decode != nullptr) {
        decode(reinterpret_cast<const uint8_t*>(source), dim, own.values);
    } else {
        dequantize_row(head_.type, source, dim, own.values);
    }
    const double square = square_sum(own.values, dim);
    if (!(square < 1e60)) {  // Is always computed: its logit is the model's matter.
        std::memset(out, 0, copy_.row_stride);
        errors_[row] = kInfinity;
        return;
    }
    float* left = own.left;
    for (uint32_t i = 0; i < dim; ++i) left[i] = own.values[order_[i]];
    for (uint32_t i = 0; i < dim; i += kBlock, out += kBlockBytes) encode_block(left + i, out);
    const double ordinary = square_sum(left, num_ordinary);
    const double once = std::sqrt(square_sum(left, dim));
    for (uint32_t i = num_ordinary; i < dim; i += kBlock, out += kBlockBytes)
        encode_block(left + i, out);
    const double large = square_sum(left + num_ordinary, num_columns_);
    errors_[row] = static_cast<float>(
        std::sqrt(ordinary + large * column_weight_ * column_weight_) * (1 + 1e-6));
    // Of the large columns what is left once is in the copy as well.
    const double norm = std::sqrt(square);
    own.largest_norm =
        std::max(own.largest_norm,
                 static_cast<float>(norm + std::hypot(norm + once, once + std::sqrt(large))));
}

/// Also writes the row as the copy wants it.
HeadScreen::Bound HeadScreen::bound_of(const float* x, float* widened) const {
    const uint32_t dim = head_.cols, num_ordinary = dim - num_columns_;
    for (uint32_t i = 0; i < dim; ++i) widened[i] = x[order_[i]];
    std::copy_n(widened + num_ordinary, num_columns_, widened + dim);
    const double ordinary = square_sum(widened, num_ordinary);
    const double large = square_sum(widened + dim, num_columns_);
    const double weight = column_weight_;
    return {static_cast<float>(std::sqrt(ordinary + large / (weight * weight)) * (1 + 1e-6)),
            static_cast<float>(std::sqrt(ordinary + 2 * large) * largest_norm_ *
                               product_error(copy_.cols))};
}

/// Groups of a lane's share are numbered from here on; no two lanes have the same.
uint32_t HeadScreen::first_group(Lane::Range share, uint32_t lane_index) const {
    return share.begin / kGroup + lane_index;
}

/// Products with the copy, where the logits will be, and the most that each group has at least.
void HeadScreen::estimate(const Lane& lane, MatmulScratch& scratch, const MatmulInput& x,
                          const MatmulTarget& logits) {
    LaneMemory& own = lanes_[lane.index];
    for (uint32_t row = 0; row < x.num_rows; ++row)
        own.bounds[row] = bound_of(x.x + row * x.stride, own.x + size_t{row} * copy_.cols);
    const MatmulTarget target{&copy_, nullptr, logits.out, logits.out_stride};
    matmul(lane, kernels_, scratch, {own.x, copy_.cols, x.num_rows, x.num_rows}, {&target, 1},
           Precision::fine);
    lane.barrier();
    const Lane::Range share = vector_share(lane, head_.rows);
    const uint32_t first = first_group(share, lane.index);
    const uint32_t end = lane.index + 1 == lane.count
                             ? num_groups_
                             : first_group({share.end, share.end}, lane.index + 1);
    for (uint32_t row = 0; row < x.num_rows; ++row) {
        float* most = group_most_ + size_t{row} * num_groups_;
        float* least = group_least_ + size_t{row} * num_groups_;
        std::fill(least + first, least + end, -kInfinity);
        const Bound bound = own.bounds[row];
        if (!bound.is_known()) continue;
        const float* estimates = logits.out + row * logits.out_stride;
        uint32_t group = first;
        for (uint32_t begin = share.begin; begin < share.end; begin += kGroup, ++group) {
            const uint32_t count = std::min(kGroup, share.end - begin);
            const Extremes extremes =
                extremes_of(estimates + begin, errors_ + begin, count, bound.factor, bound.addend);
            most[group] = extremes.most;
            least[group] = extremes.least;
        }
    }
}

/// At least `num_best` tokens reach the threshold, one in each of so many groups.
void HeadScreen::find_thresholds(const Lane& lane) {
    LaneMemory& own = lanes_[lane.index];
    for (uint32_t row = 0; row < num_rows_; ++row) {
        std::copy_n(group_least_ + size_t{row} * num_groups_, num_groups_, own.sorted);
        float* place = own.sorted + (num_best_ - 1);
        std::nth_element(own.sorted, place, own.sorted + num_groups_, std::greater<>());
        // Scaling and softcap may make logits equal that are not yet; of equals the first is drawn.
        const float cap = limits_.softcap;
        float margin = 1e-6f * std::abs(*place);
        if (cap > 0) margin += 1e-4f * cap;
        own.at_least[row] = cap > 0 && std::abs(*place) > 3 * cap ? -kInfinity : *place - margin;
    }
}

/// Those of a group's tokens that could be among the best of any row; of the others the logits
/// become -infinity.
uint64_t HeadScreen::keep_possible(const Lane& lane, uint32_t group, Lane::Range tokens,
                                   const MatmulTarget& logits) {
    LaneMemory& own = lanes_[lane.index];
    const uint32_t count = tokens.end - tokens.begin;
    const uint64_t all = count == kGroup ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    uint64_t kept = 0;
    for (uint32_t row = 0; row < num_rows_; ++row) {
        const Bound bound = own.bounds[row];
        const float at_least = own.at_least[row];
        if (!bound.is_known() || at_least == -kInfinity) {
            kept = all;
            break;
        }
        if (group_most_[size_t{row} * num_groups_ + group] < at_least) continue;
        const float* estimates = logits.out + row * logits.out_stride + tokens.begin;
        const float* errors = errors_ + tokens.begin;
        for (uint32_t i = 0; i < count; ++i) {
            const float most = estimates[i] + (errors[i] * bound.factor + bound.addend);
            kept |= uint64_t{most >= at_least ? 1u : 0u} << i;
        }
    }
    own.num_computed += static_cast<uint64_t>(std::popcount(kept));
    for (uint32_t row = 0; row < num_rows_ && kept != all; ++row)
        std::fill_n(logits.out + row * logits.out_stride + tokens.begin, count, -kInfinity);
    return kept;
}

/// Has the first rows of a run brought into the cache; the others follow while it is computed.
void HeadScreen::fetch(Lane::Range tokens) const {
    constexpr uint32_t kRows = 2, kLine = 64;
    const uint32_t count = std::min(kRows, tokens.end - tokens.begin);
    const std::byte* row = head_.data + tokens.begin * head_.row_stride;
    const std::byte* end = row + count * head_.row_stride;
    for (; row < end; row += kLine) __builtin_prefetch(row);
}

}  // namespace hokku::cpu
