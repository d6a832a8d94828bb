// SPDX-License-Identifier: Apache-2.0
// A few rows of x (decode): the weights are read in place, once for all, by far the most of the
// time.
#include <algorithm>
#include <cstring>

#include "backend/cpu/matmul_paths.h"

namespace hokku::cpu {

namespace {

/// Rows from the front that a kernel may read without passing the end of the last row.
uint32_t num_safe_rows(const WeightMatrix& weight) {
    const size_t unsafe = (kRowOverread + weight.row_stride - 1) / weight.row_stride;
    return weight.rows - static_cast<uint32_t>(std::min<size_t>(unsafe, weight.rows));
}

/// Rows [first, first + kGemvStreams * rows) of a weight matrix as streams.
struct Streams {
    uint32_t first = 0, rows = 0;  ///< Of the first stream; rows of each.
};

GemvCall make_call(const Product& product, const MatmulTarget& target) {
    const WeightMatrix& weight = *target.weight;
    return {.row_stride = weight.row_stride,
            .n = weight.cols,
            .num_vectors = product.num_rows,
            .vectors = product.scratch.vectors,
            .residuals = product.is_fine ? product.scratch.residuals : nullptr,
            .x = product.x,
            .x_stride = product.x_stride,
            .out_stride = target.out_stride,
            .reads_ahead = product.kernels.reads_ahead};
}

/// Rows [begin, end) of each stream; the rows of x are in the scratch vectors already.
void multiply_streams(const Product& product, const MatmulTarget& target, const GemvKernel& gemv,
                      const Streams& streams, uint32_t begin, uint32_t end) {
    GemvCall call = make_call(product, target);
    const uint32_t first = streams.first + begin;
    call.weights = row_of(*target.weight, first);
    call.num_rows = end - begin;
    call.num_streams = kGemvStreams;
    call.stream_rows = streams.rows;
    call.out = product.out(target) + first;
    gemv.run(call);
    for (uint32_t stream = 0; stream < kGemvStreams; ++stream)
        add_bias(product, target, first + stream * streams.rows,
                 first + stream * streams.rows + call.num_rows);
}

/// One row after the other, for the few that make no streams.
void multiply_singly(const Product& product, const MatmulTarget& target, const GemvKernel& gemv,
                     const Lane::Range& range) {
    const WeightMatrix& weight = *target.weight;
    GemvCall call = make_call(product, target);
    const uint32_t safe_end = std::clamp(num_safe_rows(weight), range.begin, range.end);
    if (safe_end > range.begin) {
        call.weights = row_of(weight, range.begin);
        call.num_rows = safe_end - range.begin;
        call.out = product.out(target) + range.begin;
        gemv.run(call);
    }
    call.weights = product.scratch.row_copy;
    call.num_rows = 1;
    for (uint32_t row = safe_end; row < range.end; ++row) {
        std::memcpy(product.scratch.row_copy, row_of(weight, row), weight.row_bytes());
        call.out = product.out(target) + row;
        gemv.run(call);
    }
    add_bias(product, target, range.begin, range.end);
}

/// The streams that rows [range) make; what is left of them is fewer than kGemvStreams rows and
/// those at the end of the weights that a kernel would read beyond.
Streams make_streams(const WeightMatrix& weight, const Lane::Range& range) {
    const uint32_t safe_end = std::clamp(num_safe_rows(weight), range.begin, range.end);
    const uint32_t rows = (safe_end - range.begin) / kGemvStreams;
    return {range.begin, std::min(rows, WorkShares::kMaxUnits / kMaxTargets)};
}

void prepare_vectors(const Product& product, size_t n, const GemvKernel& gemv) {
    for (uint32_t row = 0; row < product.num_rows; ++row)
        product.kernels.prepare_vector(product.x + row * product.x_stride, n, gemv.layout,
                                       gemv.zero_point, product.scratch.vectors[row],
                                       product.is_fine ? &product.scratch.residuals[row] : nullptr);
}

const GemvKernel& gemv_of(const MatmulKernels& kernels, const MatmulTarget& target) {
    return kernels.gemv[static_cast<uint32_t>(target.weight->type)];
}

/// Whether two kernels want the vectors prepared alike.
bool is_same_input(const GemvKernel& a, const GemvKernel& b) {
    return b.run && a.layout == b.layout && a.zero_point == b.zero_point;
}

/// Bytes of weights of a part that a lane takes, at least: about a microsecond's.
constexpr size_t kMinPartBytes = 16384;

/// All rows of targets whose vectors are prepared, as parts of WorkShares whose units are a row of
/// each stream, of one target after the other.
void multiply_shares(const Product& product, WorkShares& shares,
                     std::span<const MatmulTarget> targets) {
    const Lane& lane = product.lane;
    const uint32_t turn = product.scratch.num_shared++;
    const auto streams_of = [&](const MatmulTarget& target, uint32_t owner) {
        return make_streams(*target.weight,
                            vector_share({owner, lane.count, nullptr}, target.weight->rows));
    };
    uint32_t num_units = 0;
    for (const MatmulTarget& target : targets) num_units += streams_of(target, lane.index).rows;
    shares.open(lane.index, turn, num_units);
    const size_t unit_bytes = kGemvStreams * targets.front().weight->row_stride;
    const uint32_t grain =
        lane.count == 1 ? num_units : static_cast<uint32_t>(kMinPartBytes / unit_bytes) + 1;
    WorkShares::Part part;
    while (shares.take(lane.index, turn, grain, part)) {
        for (const MatmulTarget& target : targets) {
            const Streams streams = streams_of(target, part.owner);
            const uint32_t end = std::min(part.end, streams.rows);
            if (part.begin < end)
                multiply_streams(product, target, gemv_of(product.kernels, target), streams,
                                 part.begin, end);
            part.begin -= std::min(part.begin, streams.rows);
            part.end -= std::min(part.end, streams.rows);
        }
    }
    for (const MatmulTarget& target : targets) {
        const Streams streams = streams_of(target, lane.index);
        const Lane::Range range = vector_share(lane, target.weight->rows);
        multiply_singly(product, target, gemv_of(product.kernels, target),
                        {streams.first + kGemvStreams * streams.rows, range.end});
    }
}

}  // namespace

// x is quantised by each lane for itself, which costs less than a barrier. A lane begins with rows
// of its own; one that is done helps the others: the slowest is a tenth behind the mean, a fifth
// where matrices are small (Xeon, 2026-11).
void multiply_vectors(const Product& product, MatmulScratch::State& state,
                      std::span<const MatmulTarget> targets) {
    for (size_t first = 0, end; first < targets.size(); first = end) {
        const GemvKernel& gemv = gemv_of(product.kernels, targets[first]);
        end = first + 1;
        if (!gemv.run) continue;
        while (end < targets.size() && end - first < kMaxTargets &&
               is_same_input(gemv, gemv_of(product.kernels, targets[end])))
            ++end;
        if (gemv.layout != VectorLayout::floats)
            prepare_vectors(product, targets[first].weight->cols, gemv);
        multiply_shares(product, state.shares, targets.subspan(first, end - first));
    }
}

namespace {

Product product_of(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
                   const MatmulInput& input, Precision precision) {
    return {lane, *kernels.matmul, scratch.state().lanes[lane.index], input.x, input.stride,
            0,    input.num_rows,  precision == Precision::fine};
}

}  // namespace

void read_ahead(const Lane& lane, const KernelTable& kernels, const WeightMatrix& weight) {
    if (!kernels.matmul->reads_ahead || !weight) return;
    const Streams streams = make_streams(weight, vector_share(lane, weight.rows));
    const size_t stream_bytes = streams.rows * weight.row_stride;
    for (uint32_t stream = 0; stream < kGemvStreams; ++stream) {
        const uint8_t* begin = row_of(weight, streams.first) + stream * stream_bytes;
        for (size_t line = 0; line < std::min(kGemvBytesAhead, stream_bytes); line += 64)
            __builtin_prefetch(begin + line, 0, 2);
    }
}

ChosenRows::ChosenRows(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
                       const MatmulInput& input, const MatmulTarget& target, Precision precision)
    : lane_(lane),
      kernels_(kernels),
      scratch_(scratch),
      input_(input),
      target_(target),
      precision_(precision) {
    const GemvKernel& gemv = gemv_of(*kernels.matmul, target);
    if (gemv.layout != VectorLayout::floats)
        prepare_vectors(product_of(lane, kernels, scratch, input, precision), target.weight->cols,
                        gemv);
}

void ChosenRows::multiply(Lane::Range rows) const {
    const Product product = product_of(lane_, kernels_, scratch_, input_, precision_);
    const GemvKernel& gemv = gemv_of(*kernels_.matmul, target_);
    const Streams streams = make_streams(*target_.weight, rows);
    if (streams.rows > 0) multiply_streams(product, target_, gemv, streams, 0, streams.rows);
    multiply_singly(product, target_, gemv,
                    {streams.first + kGemvStreams * streams.rows, rows.end});
}

}  // namespace hokku::cpu
