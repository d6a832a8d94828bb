// SPDX-License-Identifier: Apache-2.0
// Where the values of a super-block of TQ1_0 meet those of a vector (layout ternary): its bytes lie
// in one register, and digit n of all of them is multiplied with register n of a step. Internal
// linkage on purpose.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku::cpu {
namespace {

constexpr size_t kTernaryRegisters = 5;
/// Of each register 64 codes, 16 starts and 16 scales.
constexpr size_t kTernaryStepBytes = kTernaryRegisters * 3 * 64;

struct TernaryPlace {
    size_t digit, byte;
};

/// Of a value of the super-block; four from a multiple of four on are neighbours. The digits of 32
/// bytes come first, then those of 16 and of four (backend/dequantize_codebooks.h).
constexpr TernaryPlace ternary_place(size_t value) {
    if (value < 160) return {value / 32, value % 32};
    if (value < 240) return {(value - 160) / 16, 32 + (value - 160) % 16};
    return {(value - 240) / 4, 48 + value % 4};
}

/// What a digit of 1 is in its register: four digits share a byte, the fifth has one for itself.
constexpr int32_t ternary_unit(size_t digit) {
    return digit < 4 ? 1 << (2 * digit) : 1;
}

}  // namespace
}  // namespace hokku::cpu
