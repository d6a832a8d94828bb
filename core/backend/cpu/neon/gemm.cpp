// SPDX-License-Identifier: Apache-2.0
// GEMM by dot products: one vdotq_laneq multiplies four weight rows by one row of x over four
// values.
#include "backend/cpu/neon/gemm.h"

#include "backend/cpu/neon/tables.h"

namespace hokku::cpu {

namespace {

/// Sum number t is that of row t of x; its lanes are weight rows.
struct DotProducts {
    static constexpr size_t kGroup = 4;
    struct Factors {
        float32x4_t part[4];
    };
    HOKKU_INLINE static void interleave(int8_t* out, int8x16_t a, int8x16_t b, int8x16_t c,
                                        int8x16_t d) {
        vst4q_s32(reinterpret_cast<int32_t*>(out),
                  {{vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b), vreinterpretq_s32_s8(c),
                    vreinterpretq_s32_s8(d)}});
    }
    HOKKU_INLINE static void multiply(int32x4_t (&dots)[2][4], const int8_t* w0, const int8_t* w1,
                                      const int8_t* x) {
        const int8x16_t w[2] = {vld1q_s8(w0), vld1q_s8(w1)}, xs = vld1q_s8(x);
#pragma GCC unroll 2
        for (int q = 0; q < 2; ++q) {
            dots[q][0] = vdotq_laneq_s32(dots[q][0], w[q], xs, 0);
            dots[q][1] = vdotq_laneq_s32(dots[q][1], w[q], xs, 1);
            dots[q][2] = vdotq_laneq_s32(dots[q][2], w[q], xs, 2);
            dots[q][3] = vdotq_laneq_s32(dots[q][3], w[q], xs, 3);
        }
    }
    HOKKU_INLINE static Factors of_weights(float32x4_t f) {
        return {{f, f, f, f}};
    }
    HOKKU_INLINE static Factors of_x(float32x4_t f) {
        return {{vdupq_laneq_f32(f, 0), vdupq_laneq_f32(f, 1), vdupq_laneq_f32(f, 2),
                 vdupq_laneq_f32(f, 3)}};
    }
    HOKKU_INLINE static void store_rows(const float32x4_t (&sums)[4], float (&out)[4][4]) {
        for (int t = 0; t < 4; ++t) vst1q_f32(out[t], sums[t]);
    }
};

}  // namespace

void fill_neon_gemm(MatmulKernels& table) {
    fill_gemm<DotProducts>(table);
}

}  // namespace hokku::cpu
