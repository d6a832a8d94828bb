// SPDX-License-Identifier: Apache-2.0
// How the attention kernels read keys and values of each KvType into registers of floats. The
// layout is that of kv_layout.h. Internal linkage on purpose.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kv_layout.h"
#include "backend/cpu/simd/floats.h"

namespace hokku::cpu {

namespace {

struct FloatKv {
    using Element = float;
    static constexpr KvType kType = KvType::f32;
    static constexpr bool kIsScaled = false;
    static constexpr size_t kDims = 1;
    HOKKU_INLINE static Floats read(const float* p) { return load(p); }
    template <class Lanes>
    HOKKU_INLINE static Floats read(const float* p, Lanes lanes) {
        return load(p, lanes);
    }
};

/// Rows of values have room for whole registers in this type and the next ones.
struct HalfKv {
    using Element = uint16_t;
    static constexpr KvType kType = KvType::f16;
    static constexpr bool kIsScaled = false;
    static constexpr size_t kDims = 1;
    HOKKU_INLINE static Floats read(const uint16_t* p) { return load_halves(p); }
    template <class Lanes>
    HOKKU_INLINE static Floats read(const uint16_t* p, Lanes) {
        return load_halves(p);
    }
};

struct CodeKv {
    using Element = int8_t;
    static constexpr KvType kType = KvType::q8_0;
    static constexpr bool kIsScaled = true;
    static constexpr size_t kDims = 1;
    HOKKU_INLINE static Floats read(const int8_t* p) { return load_int8s(p); }
    template <class Lanes>
    HOKKU_INLINE static Floats read(const int8_t* p, Lanes) {
        return load_int8s(p);
    }
};

/// An element is two dimensions, 16 apart; a register of elements becomes two of floats.
struct NibbleKv {
    using Element = uint8_t;
    static constexpr KvType kType = KvType::q4_0;
    static constexpr bool kIsScaled = true;
    static constexpr size_t kDims = 2;
};

/// The first dimension of element i of a row of values.
template <class Kv>
constexpr size_t first_dim(size_t i) {
    return Kv::kDims == 1 ? i : i / kKvNibbleBytes * kKvScaleDims + i % kKvNibbleBytes;
}

/// The dimension of the first lane of register number `column` of a row of values, counted from
/// that of register 0, which begins a group of dimensions or lies in one with all the others.
template <class Kv>
constexpr size_t dim_of_column(size_t column) {
    return first_dim<Kv>(column / Kv::kDims * kLanes) + column % Kv::kDims * kKvNibbleBytes;
}

/// kColumns registers of a row of values; lanes[c] are those that are needed of each.
template <class Kv, size_t kColumns, class Lanes>
HOKKU_INLINE void read_columns(const typename Kv::Element* values, Lanes lanes, Floats* out) {
    if constexpr (Kv::kDims == 2) {
#pragma GCC unroll 2
        for (size_t c = 0; c < kColumns; c += 2)
            load_nibbles(values + kLanes * c / 2, out[c], out[c + 1]);
    } else {
#pragma GCC unroll 4
        for (size_t c = 0; c < kColumns; ++c) out[c] = Kv::read(values + kLanes * c, lanes[c]);
    }
}

/// Scales of the positions of a block, behind the elements of each, for the group of dimensions
/// that holds `dim`.
template <class Kv>
HOKKU_INLINE const uint16_t* scales_of(const std::byte* head, size_t elements, size_t dim) {
    return reinterpret_cast<const uint16_t*>(head + kv_element_bytes(Kv::kType, elements)) +
           dim / kKvScaleDims * kKvPositions;
}

}  // namespace

}  // namespace hokku::cpu
