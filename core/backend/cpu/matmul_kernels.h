// SPDX-License-Identifier: Apache-2.0
// MatmulKernels: the inner loops behind matmul() for one instruction set. Plain data, so that
// kernel files need no other header of ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku::cpu {

/// Kernels may read this many bytes past the last row that they are given.
inline constexpr size_t kRowOverread = 128;

/// A few weight rows as float32 against all rows of x.
struct DotCall {
    const float* weights = nullptr;  ///< [num_weights][n], contiguous.
    uint32_t num_weights = 0;        ///< 1..kDotWeights
    const float* x = nullptr;        ///< [num_rows][n]
    size_t x_stride = 0;
    uint32_t num_rows = 0;
    size_t n = 0;
    float* out = nullptr;  ///< out[row * out_stride + weight]
    size_t out_stride = 0;
    bool accumulate = false;  ///< Adds to out instead of setting it.
};
inline constexpr uint32_t kDotWeights = 8;

// --- A few rows of x (decode): GEMV over blocks in place -----------------------------------------

/// Orders in which kernels want the codes, scales and sums of a vector. Each kernel set has its
/// own; its activations.cpp describes them.
enum class VectorLayout : uint32_t {
    floats,  ///< The vector itself.
    // avx512
    halves,
    halves_of_16,
    super_pairs,
    super_linear,
    super_two,
    super_nibbles,
    quads,
    super_plain,
    super_points,
    ternary,
    // avx2
    blocks,
    super_blocks,
    super_halves,
    // neon
    neon_blocks,
};

/// A vector as int8 codes with one float32 scale for each 32 values. Every part has room for
/// gemv_part_bytes(n) bytes and is aligned to 64; they follow each other in this order, and the
/// kernel set that makes and reads them may use them as one piece that begins at `codes`. How a
/// vector and its residual add up is its matter too.
struct GemvVector {
    int8_t* codes = nullptr;    ///< In the order of the layout.
    float* scales = nullptr;    ///< As the layout says.
    int32_t* starts = nullptr;  ///< Accumulator starts: -zero_point * sums of codes.
    float* sums = nullptr;      ///< Scale times sums of codes, for types with minima.
};

static constexpr size_t gemv_part_bytes(size_t n) {
    return (n + 511) / 256 * 256;
}

/// Vectors of one call: the weights are read once for all of them.
inline constexpr uint32_t kMaxGemvVectors = 8;

/// Rows far apart that a GEMV reads at the same time: linear streams for the prefetcher.
inline constexpr uint32_t kGemvStreams = 4;
/// Where kernels ask for weights ahead, by so many bytes in each stream (1 to 4 KiB are alike on a
/// Zen 5, 1 and 2 KiB on a Xeon, where more is worse; 2026-11).
inline constexpr size_t kGemvBytesAhead = 2048;

struct GemvCall {
    const uint8_t* weights = nullptr;       ///< First row of the first stream.
    size_t row_stride = 0;                  ///< Bytes from one row to the next.
    uint32_t num_rows = 0;                  ///< Weight rows of each stream, one after another.
    uint32_t num_streams = 1;               ///< 1 or kGemvStreams
    size_t stream_rows = 0;                 ///< Weight rows from one stream to the next.
    size_t n = 0;                           ///< Values per row.
    uint32_t num_vectors = 1;               ///< 1..kMaxGemvVectors
    const GemvVector* vectors = nullptr;    ///< [num_vectors]
    const GemvVector* residuals = nullptr;  ///< Null, or what quantising left, quantised too.
    const float* x = nullptr;               ///< The vectors themselves (layout floats).
    size_t x_stride = 0;
    float* out = nullptr;  ///< out[vector * out_stride + stream * stream_rows + row]
    size_t out_stride = 0;
    bool reads_ahead = false;  ///< Asks for weights before it needs them: MatmulKernels.
};

/// Calls run(row) for all weight rows of a call, `row` counted from the first one: for kernels that
/// read one row at a time.
template <class Run>
static void for_each_row(const GemvCall& call, Run run) {
    for (size_t stream = 0; stream < call.num_streams; ++stream)
        for (size_t row = 0; row < call.num_rows; ++row) run(stream * call.stream_rows + row);
}

/// What comes out for a vector does not depend on the others of its call.
struct GemvKernel {
    void (*run)(const GemvCall& call) = nullptr;  ///< Null: the type has no such kernel.
    VectorLayout layout = VectorLayout::floats;
    int32_t zero_point = 0;
};

// --- Many rows of x (prefill): GEMM over unpacked weights ----------------------------------------

/// Rows of x as int8 codes in tiles of `tile` rows; the rows that fill the last tile up are zero.
/// Of tile i with K = n, in kernel sets that say nothing else:
struct GemmRows {
    int8_t* codes = nullptr;         ///< [n / 4][tile][4]
    int32_t* starts = nullptr;       ///< [n / 32][tile]: -128 * sum of codes
    int32_t* half_starts = nullptr;  ///< [n / 16][tile]: the same for each 16 values
    float* scales = nullptr;         ///< [n / 32][tile]
    float* sums = nullptr;           ///< [n / 32][tile]: scale * sum of codes
    uint32_t tile = 1;               ///< 1..max_gemm_tile of the table
    uint32_t num_rows = 0;
    size_t n = 0;
};
/// No table has larger tiles.
inline constexpr uint32_t kGemmTile = 16;
/// Weight rows that are unpacked and multiplied together.
inline constexpr uint32_t kGemmGroup = 32;
/// Values of a weight row that are unpacked at a time: 32 rows of 1024 codes stay in the L1 or L2
/// cache while all tiles pass by.
inline constexpr uint32_t kGemmDepth = 1024;

/// kGemmGroup weight rows unpacked over a range of at most kGemmDepth values.
struct GemmPanel {
    uint8_t* codes = nullptr;  ///< [depth / 4][kGemmGroup][4]: code + 128, or int8 (is_signed)
    float* scales = nullptr;   ///< [depth / 32 or / 16][kGemmGroup]
    float* mins = nullptr;     ///< As scales, types with minima.
};

struct GemmUnpackCall {
    const uint8_t* weights = nullptr;  ///< First row of the group.
    size_t row_stride = 0;             ///< Bytes from one row to the next.
    uint32_t num_rows = 0;             ///< 1..kGemmGroup; further rows of the panel become zero.
    size_t begin = 0, end = 0;         ///< Values; multiples of the block size.
    bool is_signed = false;            ///< Codes as they are, not code + 128.
    GemmPanel panel;
};

struct GemmCall {
    const GemmRows* rows = nullptr;
    uint32_t tile_index = 0;
    GemmPanel panel;
    size_t begin = 0, end = 0;
    uint32_t num_weights = 0;  ///< 1..kGemmGroup
    bool accumulate = false;   ///< Adds to out instead of setting it.
    float* out = nullptr;      ///< Of the tile's first row and the group's first weight.
    size_t out_stride = 0;
};

struct GemmKernel {
    void (*unpack)(const GemmUnpackCall& call) = nullptr;  ///< Null: no such kernel.
    void (*run)(const GemmCall& call) = nullptr;
};

// --- Many rows of x: GEMM of weights stored as floats, as sums of bfloat16 -----------------------

/// Rows of x, or of weights, in a tile; values of each.
inline constexpr uint32_t kSplitTile = 16, kSplitStep = 32;
/// Weight rows at most, and values of them, that are unpacked and multiplied together with so many
/// rows of x: a panel, these values of x and all sums stay in an L2 cache of 2 MB.
inline constexpr uint32_t kSplitGroup = 128, kSplitDepth = 256, kSplitRows = 512;

/// bfloat16 that a row of x of n values takes.
constexpr size_t split_row_values(size_t n) {
    return (n + kSplitStep - 1) / kSplitStep * kSplitStep * 2;
}

struct SplitUnpackCall {
    const uint8_t* weights = nullptr;  ///< First row of the group.
    size_t row_stride = 0;             ///< Bytes from one row to the next.
    uint32_t num_rows = 0;             ///< 1..kSplitGroup
    size_t begin = 0, end = 0;         ///< Values; begin is a multiple of kSplitStep.
    uint16_t* panel = nullptr;         ///< Room for 3 * kSplitGroup * kSplitDepth.
};

struct SplitCall {
    const uint16_t* x = nullptr;  ///< As pack_split_rows makes it, at the panel's first value.
    size_t x_tile_stride = 0;     ///< From a tile to the next.
    uint32_t num_rows = 0;        ///< 1..2 * kSplitTile
    const uint16_t* panel = nullptr;
    size_t num_steps = 0;      ///< Of kSplitStep values.
    uint32_t num_weights = 0;  ///< 1..kSplitGroup
    /// Whether the panel has the first values of the weights, and the last ones. Until the last
    /// the sums wait in `sums`, which has room for 2 * kSplitTile * kSplitGroup.
    bool is_first = true, is_last = true;
    float* sums = nullptr;
    float* out = nullptr;  ///< Of the first row and the group's first weight.
    size_t out_stride = 0;
};

struct SplitKernel {
    void (*unpack)(const SplitUnpackCall& call) = nullptr;  ///< Null: no such kernel.
    void (*run)(const SplitCall& call) = nullptr;
};

// --- The table
// ------------------------------------------------------------------------------------

inline constexpr size_t kNumTensorTypes = 43;  ///< Raw ids of TensorType lie below.

struct MatmulKernels {
    /// The path of every weight type: rows are dequantised exactly, then multiplied.
    void (*dot_rows)(const DotCall& call) = nullptr;
    /// As dequantize_row, of the same bits; null where the type has none here.
    using DecodeRow = void (*)(const uint8_t* src, size_t n, float* dst);
    DecodeRow decode[kNumTensorTypes] = {};

    /// `residual` may be null.
    void (*prepare_vector)(const float* x, size_t n, VectorLayout layout, int32_t zero_point,
                           const GemvVector& vector, const GemvVector* residual) = nullptr;
    GemvKernel gemv[kNumTensorTypes] = {};
    /// Whether single vectors gain by asking for weights ahead: a fifth to a third more bytes a
    /// second on a Xeon with AMX (2026-11), nothing or less than nothing on Zen 4.
    bool reads_ahead = false;

    /// Rows of every tile, up to kGemmTile; 0: as many as make the tiles alike.
    uint32_t gemm_tile = 0;
    uint32_t max_gemm_tile = 6;      ///< Of that many rows at most.
    bool has_signed_panels = false;  ///< Wants GemmUnpackCall::is_signed.
    /// Quantises tile number `tile_index` of x, and into `residual`, unless it is null, what that
    /// leaves of x.
    void (*pack_tile)(const float* x, size_t x_stride, uint32_t tile_index, const GemmRows& rows,
                      const GemmRows* residual) = nullptr;
    GemmKernel gemm[kNumTensorTypes] = {};
    /// Called by each thread before and after its GEMM kernels; null where they need no state.
    void (*begin_gemm)() = nullptr;
    void (*end_gemm)() = nullptr;

    /// Splits up to kSplitTile rows of x, with zeros for those that are missing.
    void (*pack_split_rows)(const float* x, size_t x_stride, uint32_t num_rows, size_t n,
                            uint16_t* out) = nullptr;
    SplitKernel split_gemm[kNumTensorTypes] = {};
    /// As begin_gemm and end_gemm.
    void (*begin_split_gemm)() = nullptr;
    void (*end_split_gemm)() = nullptr;
};

}  // namespace hokku::cpu
