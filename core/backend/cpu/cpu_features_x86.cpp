// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>

#include <cstdint>
#include <string_view>

#include "backend/cpu/amx_permission.h"
#include "backend/cpu/cpu_features.h"

namespace hokku::cpu {

namespace {

struct Registers {
    uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers query(uint32_t leaf, uint32_t subleaf) {
    Registers r;
    __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
    return r;
}

constexpr bool has_bits(uint64_t value, uint64_t bits) {
    return (value & bits) == bits;
}

/// Register states that the system saves (XCR0). Needs OSXSAVE.
uint64_t saved_states() {
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

/// "GenuineIntel"
bool is_of_intel() {
    const Registers vendor = query(0, 0);
    return vendor.b == 0x756e6547 && vendor.d == 0x49656e69 && vendor.c == 0x6c65746e;
}

/// Source: Intel SDM volume 2A, CPUID; volume 1, 13.1 (XCR0 bits).
CpuFeatures probe() {
    CpuFeatures features;
    const Registers basic = query(1, 0), extended = query(7, 0);
    if (!has_bits(basic.c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) return features;
    constexpr uint64_t kAvxState = 0x6, kAvx512State = 0xe6;
    const uint64_t states = saved_states();
    features.avx2 = has_bits(states, kAvxState) && has_bits(extended.b, bit_AVX2 | bit_BMI2);
    constexpr uint32_t kAvxVnniBit = 1u << 4;
    features.avx_vnni = features.avx2 && extended.a >= 1 && has_bits(query(7, 1).a, kAvxVnniBit);
    features.avx512_vnni =
        features.avx2 && has_bits(states, kAvx512State) &&
        has_bits(extended.b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL) &&
        has_bits(extended.c, bit_AVX512VBMI | bit_AVX512VNNI | bit_GFNI);
    features.is_intel = is_of_intel();
    constexpr uint64_t kTileStates = 0x6'0000;
    constexpr uint32_t kAmxBf16Bit = 1u << 22, kAmxTileBit = 1u << 24, kAmxInt8Bit = 1u << 25;
    const bool has_tiles = features.avx512_vnni && has_bits(states, kTileStates) &&
                           has_bits(extended.d, kAmxTileBit) && ask_for_amx_tiles();
    features.amx_int8 = has_tiles && has_bits(extended.d, kAmxInt8Bit);
    features.amx_bf16 = has_tiles && has_bits(extended.d, kAmxBf16Bit);
    return features;
}

/// Source: Intel SDM volume 2A, CPUID, "Processor Brand String".
std::string brand() {
    constexpr uint32_t kFirstLeaf = 0x8000'0002, kLastLeaf = 0x8000'0004;
    std::string name;
    for (uint32_t leaf = kFirstLeaf; leaf <= kLastLeaf; ++leaf) {
        const Registers r = query(leaf, 0);  // Zeros where the CPU has no such leaf.
        for (const uint32_t word : {r.a, r.b, r.c, r.d}) {
            for (uint32_t shift = 0; shift < 32; shift += 8)
                name.push_back(static_cast<char>(word >> shift & 0xFF));
        }
    }
    name.resize(name.find_last_not_of(std::string_view("\0 ", 2)) + 1);
    name.erase(0, name.find_first_not_of(' '));
    return name;
}

}  // namespace

CpuFeatures ask_cpu_features() {
    return probe();
}

std::string ask_cpu_name() {
    return brand();
}

}  // namespace hokku::cpu
