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
//   supers  of 256 values: q2_k, q4_k, q5_k: d and dmin as f16; q3_k, q6_k, iq4_xs and those of
//           codebooks: d as f16, zeros
//
// The rare types (kernels/codebook_formats.h):
//   codes   iq2_xxs, iq2_xs: the 8 bytes of the file; iq2_s: 4 codes, 4 bytes of signs
//           iq3_xxs, iq3_s: 8 codes
//           iq1_s, iq1_m: 4 codes; a word of four nibbles - upper bits, sign of the shift - and
//           the three bits of both halves' scales from bit 16 and 19 on
//           nvfp4: as mxfp4; tq1_0, tq2_0, q2_0, q1_0: 8 bytes as q2_k, 1 means zero
//   high    iq3_xxs: signs and scale; iq3_s: signs
//   scales  iq2_xs: both scales; iq2_s: upper bits of the codes, both scales; iq3_s: ninth bits of
//           the codes, scale; nvfp4: both scales as f16, halved; q1_0, q2_0: d as f16
//   table   the codebook: iq2: 8 bytes for each point, iq3: 4, iq1: 8, of 8 (value + 1)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

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

/// What kernels of a type are called by: "q4_k". Types that are the same once repacked share one.
std::string_view kernel_format(TensorType type);
/// Whether gemv_<format>_2 and _4 and gated_gemv_<format>_* exist. Of rare types there are
/// gemv_<format>_1 and _8, gemm_<format> and embed_<format> alone.
bool has_every_kernel(TensorType type);

/// Of the codebook; 0: the type has none, and WeightPlanes::table is null.
size_t table_bytes(TensorType type);
/// out is of table_bytes(type).
void write_table(TensorType type, std::span<std::byte> out);

/// Where the planes of a matrix lie in one piece of memory; each begins at a multiple of 256.
struct PlaneLayout {
    size_t codes = 0, high = 0, scales = 0, supers = 0;
    size_t table = 0;  ///< Of table_bytes(), which write_table() fills.
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
