// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/amx/split_gemm.h"

#include "backend/cpu/amx/tables.h"

namespace hokku::cpu {

namespace {

/// All eight tile registers have 16 rows of 64 bytes.
void configure_tiles() {
    // Source: Intel SDM volume 1, 18.2 (palette 1).
    struct alignas(64) Configuration {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } configuration{};
    configuration.palette = 1;
    for (size_t tile = 0; tile < 8; ++tile) {
        configuration.rows[tile] = kSplitTile;
        configuration.row_bytes[tile] = kSplitStep * sizeof(uint16_t);
    }
    // GCC takes only the first bytes for read.
    asm volatile("" : : "r"(&configuration) : "memory");
    _tile_loadconfig(&configuration);
}

void release_tiles() {
    _tile_release();
}

// Not GCC's own functions: see gemm.cpp. Its products want their registers spelt out.
struct AmxTiles {
    template <int kTile>
    HOKKU_INLINE static void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
    }
    template <int kTile>
    HOKKU_INLINE static void load(const void* rows, size_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(rows), "r"(stride), "i"(kTile)
                     : "memory");
    }
    template <int kTile>
    HOKKU_INLINE static void store(void* rows, size_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(rows), "r"(stride), "i"(kTile)
                     : "memory");
    }
    template <int kSums, int kX, int kWeights>
    HOKKU_INLINE static void multiply() {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                     :
                     : "i"(kSums), "i"(kX), "i"(kWeights));
    }
};

}  // namespace

void fill_amx_split_gemm(MatmulKernels& table) {
    fill_split_gemm<AmxTiles>(table);
    table.begin_split_gemm = configure_tiles;
    table.end_split_gemm = release_tiles;
}

}  // namespace hokku::cpu
