// SPDX-License-Identifier: Apache-2.0
// The GEMM of core/backend/cpu/amx/ over tile registers in plain C++, for CPUs without AMX.
#include "backend/plain_tiles.h"
#include "backend/cpu/amx/gemm.h"

namespace hokku::cpu {

namespace {

class PlainTiles {
  public:
    PlainTiles(size_t num_tokens, size_t num_values)
        : num_tokens_(num_tokens), num_values_(num_values) {}

    void load_x(const int8_t* x, size_t stride) {
        for (size_t t = 0; t < num_tokens_; ++t) std::memcpy(x_[t], x + t * stride, num_values_);
    }
    void load_weights(const uint8_t* w) { std::memcpy(w_, w, num_values_ / 4 * kGroupBytes); }
    void multiply(int32_t* dots) {
        for (size_t t = 0; t < num_tokens_; ++t) {
            for (size_t i = 0; i < kGemmGroup; ++i) {
                int32_t sum = 0;
                for (size_t k = 0; k < num_values_; ++k)
                    sum += x_[t][k] * w_[k / 4 * kGroupBytes + i * 4 + k % 4];
                dots[t * kGemmGroup + i] = sum;
            }
        }
    }

  private:
    size_t num_tokens_, num_values_;
    int8_t x_[kTileTokens][64];
    uint8_t w_[16 * kGroupBytes];
};

}  // namespace

void fill_plain_tile_gemm(MatmulKernels& table) {
    fill_tile_gemm<PlainTiles>(table);
}

}  // namespace hokku::cpu
