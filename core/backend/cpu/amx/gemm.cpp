// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/amx/gemm.h"

#include "backend/cpu/amx/tables.h"

namespace hokku::cpu {

namespace {

/// Shapes of the CPU's tile registers: of blocks of 32 values 0 holds rows of x, 1 and 2 weights;
/// of 16 values 3, 4 and 5 do; 6 and 7 are the products.
void configure_tiles() {
    // Source: Intel SDM volume 1, 18.2 (palette 1).
    struct alignas(64) Configuration {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } configuration{};
    configuration.palette = 1;
    const auto set = [&configuration](size_t tile, size_t num_rows, size_t row_bytes) {
        configuration.rows[tile] = static_cast<uint8_t>(num_rows);
        configuration.row_bytes[tile] = static_cast<uint16_t>(row_bytes);
    };
    for (const size_t num_values : {32u, 16u}) {
        const size_t first = num_values == 32 ? 0 : 3;
        set(first, kTileTokens, num_values);
        set(first + 1, num_values / 4, 64);
        set(first + 2, num_values / 4, 64);
    }
    set(6, kTileTokens, 64);
    set(7, kTileTokens, 64);
    // GCC takes only the first bytes for read.
    asm volatile("" : : "r"(&configuration) : "memory");
    _tile_loadconfig(&configuration);
}

void release_tiles() {
    _tile_release();
}

template <size_t kNumValues>
class AmxTiles {
  public:
    void load_x(const int8_t* x) { load<kFirst>(x, kRowBytes); }
    void load_weights(const uint8_t* w) {
        load<kFirst + 1>(w, kGroupBytes);
        load<kFirst + 2>(w + 64, kGroupBytes);
    }
    void multiply(int32_t* dots) {
        _tile_zero(6);
        _tile_zero(7);
        if constexpr (kFirst == 0) {
            _tile_dpbssd(6, 0, 1);
            _tile_dpbssd(7, 0, 2);
        } else {
            _tile_dpbssd(6, 3, 4);
            _tile_dpbssd(7, 3, 5);
        }
        store<6>(dots);
        store<7>(dots + 16);
    }

  private:
    static constexpr int kFirst = kNumValues == 32 ? 0 : 3;
    // Not GCC's own: they take the stride as a long, which has 32 bits on Windows and then no place
    // in an address, and what is loaded for not read.
    template <int kTile>
    static void load(const void* rows, size_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(rows), "r"(stride), "i"(kTile)
                     : "memory");
    }
    template <int kTile>
    static void store(int32_t* rows) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(rows), "r"(kGemmGroup * sizeof(int32_t)), "i"(kTile)
                     : "memory");
    }
};

}  // namespace

void fill_amx_gemm(MatmulKernels& table) {
    fill_tile_gemm<AmxTiles>(table);
    table.begin_gemm = configure_tiles;
    table.end_gemm = release_tiles;
}

}  // namespace hokku::cpu
