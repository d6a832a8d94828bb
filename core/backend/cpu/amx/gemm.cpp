// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/amx/gemm.h"

#include "backend/cpu/amx/tables.h"

namespace hokku::cpu {

namespace {

/// The registers of the CPU: 0 holds rows of x, 1 and 2 weights, 3 and 4 the products.
class AmxTiles {
  public:
    AmxTiles(size_t num_tokens, size_t num_values) {
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
        set(0, num_tokens, num_values);
        for (const size_t tile : {1u, 2u}) set(tile, num_values / 4, 64);
        for (const size_t tile : {3u, 4u}) set(tile, num_tokens, 64);
        // GCC takes only the first bytes for read.
        asm volatile("" : : "r"(&configuration) : "memory");
        _tile_loadconfig(&configuration);
    }
    ~AmxTiles() { _tile_release(); }
    AmxTiles(const AmxTiles&) = delete;
    AmxTiles& operator=(const AmxTiles&) = delete;

    void load_x(const int8_t* x, size_t stride) { load<0>(x, stride); }
    void load_weights(const uint8_t* w) {
        load<1>(w, kGroupBytes);
        load<2>(w + 64, kGroupBytes);
    }
    void multiply(int32_t* dots) {
        _tile_zero(3);
        _tile_zero(4);
        _tile_dpbsud(3, 0, 1);
        _tile_dpbsud(4, 0, 2);
        store<3>(dots);
        store<4>(dots + 16);
    }

  private:
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
}

}  // namespace hokku::cpu
