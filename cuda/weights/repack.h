// SPDX-License-Identifier: Apache-2.0
// Repacking: weight blocks of a GGUF file to planes that kernels read 16 aligned bytes at a time.
// No value changes; d, scales and minima keep their bits. Done once, at upload.
//
// Of a group of 32 values (row by row, group by group in each plane):
//   codes   16 bytes: byte i holds value i low, value i + 16 high (four bits); q8_0: 32 bytes;
//           iq4, mxfp4: byte i holds value 2 i low, 2 i + 1 high; q2_k, q3_k: 8 bytes as the high
//           of q6
//   high    q5: one word, bit 8 b + w is the fifth bit of value 4 w + b
//           q6: two words, of each half; bits 8 b + 2 w and the next are those above four of value
//           4 w + b of that half
//           q3_k: one word as that of q5, of the third bit
//   scales  q4_k, q5_k: scale and minimum, a byte each; q6_k, q3_k: the scales of both halves
//           q2_k: a byte of each half, scale low, minimum high; iq4_xs: the scale
//           q4_0, q5_0, q8_0, iq4_nl: d as f16; q4_1, q5_1: d and m as f16
//           mxfp4: the scale as f32
//   supers  of 256 values: q2_k, q4_k, q5_k: d and dmin as f16; q3_k, q6_k, iq4_xs: d as f16, zeros
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gguf/tensor_type.h"

namespace hokku::cuda {

/// Bytes of each plane for one group, 0 where a format does not have it.
struct PlaneSizes {
    uint32_t codes = 0, high = 0, scales = 0;
    uint32_t supers = 0;  ///< For eight groups.
};

/// Whether kernels exist for it.
bool can_repack(TensorType type);
PlaneSizes plane_sizes(TensorType type);

/// Where the planes of a matrix lie in one piece of memory; each begins at a multiple of 256.
struct PlaneLayout {
    size_t codes = 0, high = 0, scales = 0, supers = 0;
    size_t bytes = 0;
};

/// cols is a multiple of the type's block.
PlaneLayout plane_layout(TensorType type, uint32_t rows, uint32_t cols);

/// Planes of some rows, each as large as plane_sizes says.
struct PlaneSpans {
    std::span<std::byte> codes, high, scales, supers;
};

/// Rows of blocks, row_stride bytes apart, to planes.
///
/// Needs  : can_repack(type); spans for `rows` rows.
/// Threads: re-entrant.
void repack_rows(TensorType type, const std::byte* src, size_t row_stride, uint32_t rows,
                 uint32_t cols, const PlaneSpans& out);

}  // namespace hokku::cuda
