// SPDX-License-Identifier: Apache-2.0
// The GEMMs of core/backend/cpu/amx/ over tile registers in plain C++, for CPUs without AMX.
#include "backend/plain_tiles.h"

#include <cmath>

#include "backend/cpu/amx/gemm.h"
#include "backend/cpu/amx/split_gemm.h"

namespace hokku::cpu {

namespace {

template <size_t kNumValues>
class PlainTiles {
  public:
    void load_x(const int8_t* x) {
        for (size_t t = 0; t < kTileTokens; ++t) std::memcpy(x_[t], x + t * kRowBytes, kNumValues);
    }
    void load_weights(const uint8_t* w) { std::memcpy(w_, w, kNumValues / 4 * kGroupBytes); }
    void multiply(int32_t* dots) {
        for (size_t t = 0; t < kTileTokens; ++t) {
            for (size_t i = 0; i < kGemmGroup; ++i) {
                int32_t sum = 0;
                for (size_t k = 0; k < kNumValues; ++k)
                    sum += x_[t][k] * w_[k / 4 * kGroupBytes + i * 4 + k % 4];
                dots[t * kGemmGroup + i] = sum;
            }
        }
    }

  private:
    int8_t x_[kTileTokens][kNumValues];
    int8_t w_[kNumValues / 4 * kGroupBytes];
};

/// Subnormal numbers count as zero.
float flush(float x) {
    return std::abs(x) < 0x1p-126f ? 0.0f : x;
}

/// Source: Intel SDM volume 2B, TDPBF16PS.
class PlainSplitTiles {
  public:
    template <int kTile>
    static void zero() {
        std::memset(tiles_[kTile], 0, sizeof tiles_[kTile]);
    }
    template <int kTile>
    static void load(const void* rows, size_t stride) {
        for (size_t i = 0; i < 16; ++i)
            std::memcpy(tiles_[kTile][i], static_cast<const uint8_t*>(rows) + i * stride, 64);
    }
    template <int kTile>
    static void store(void* rows, size_t stride) {
        for (size_t i = 0; i < 16; ++i)
            std::memcpy(static_cast<uint8_t*>(rows) + i * stride, tiles_[kTile][i], 64);
    }
    template <int kSums, int kX, int kWeights>
    static void multiply() {
        for (size_t m = 0; m < 16; ++m) {
            for (size_t n = 0; n < 16; ++n) {
                float sums[2] = {};
                for (size_t k = 0; k < 16; ++k) {
                    for (size_t i = 0; i < 2; ++i)
                        sums[i] = flush(
                            std::fma(half_of(kX, m, k, i), half_of(kWeights, k, n, i), sums[i]));
                }
                float sum;
                std::memcpy(&sum, &tiles_[kSums][m][n], sizeof sum);
                sum = flush(flush(sum) + flush(sums[0] + sums[1]));
                std::memcpy(&tiles_[kSums][m][n], &sum, sizeof sum);
            }
        }
    }

  private:
    static float half_of(int tile, size_t row, size_t pair, size_t i) {
        const uint32_t bits =
            i ? tiles_[tile][row][pair] & 0xffff0000u : tiles_[tile][row][pair] << 16;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return flush(value);
    }
    static thread_local uint32_t tiles_[8][16][16];
};
thread_local uint32_t PlainSplitTiles::tiles_[8][16][16];

}  // namespace

void fill_plain_split_gemm(MatmulKernels& table) {
    fill_split_gemm<PlainSplitTiles>(table);
}

void fill_plain_tile_gemm(MatmulKernels& table) {
    fill_tile_gemm<PlainTiles>(table);
}

}  // namespace hokku::cpu
