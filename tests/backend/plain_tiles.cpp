// SPDX-License-Identifier: Apache-2.0
// The GEMM of core/backend/cpu/amx/ over tile registers in plain C++, for CPUs without AMX.
#include "backend/plain_tiles.h"
#include "backend/cpu/amx/gemm.h"

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

}  // namespace

void fill_plain_tile_gemm(MatmulKernels& table) {
    fill_tile_gemm<PlainTiles>(table);
}

}  // namespace hokku::cpu
