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
    HOKKU_INLINE static Floats read(const float* p) { return load(p); }
    template <class Lanes>
    HOKKU_INLINE static Floats read(const float* p, Lanes lanes) {
        return load(p, lanes);
    }
};

/// Rows of values have room for whole registers in this type and the next.
struct HalfKv {
    using Element = uint16_t;
    static constexpr KvType kType = KvType::f16;
    static constexpr bool kIsScaled = false;
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
    HOKKU_INLINE static Floats read(const int8_t* p) { return load_int8s(p); }
    template <class Lanes>
    HOKKU_INLINE static Floats read(const int8_t* p, Lanes) {
        return load_int8s(p);
    }
};

/// Scales of the positions of a block, for the group of dimensions that holds `dim`.
template <class Kv>
HOKKU_INLINE const uint16_t* scales_of(const std::byte* head, size_t row, size_t dim) {
    return reinterpret_cast<const uint16_t*>(head + kv_element_bytes(Kv::kType, row)) +
           dim / kKvScaleDims * kKvPositions;
}

}  // namespace

}  // namespace hokku::cpu
