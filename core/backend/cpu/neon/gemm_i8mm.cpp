// SPDX-License-Identifier: Apache-2.0
// GEMM by products of matrices: one vmmlaq multiplies two weight rows by two rows of x over eight
// values, twice what a dot product does.
#include "backend/cpu/neon/gemm.h"

#include "backend/cpu/neon/tables.h"

namespace hokku::cpu {

namespace {

/// Sum number 2 r + t is that of weight rows 2 r and 2 r + 1 and rows 2 t and 2 t + 1 of x; its
/// lanes are the first weight row times both, then the second times both.
struct MatrixProducts {
    static constexpr size_t kGroup = 8;
    struct Factors {
        float32x4_t part[4];
    };
    HOKKU_INLINE static void interleave(int8_t* out, int8x16_t a, int8x16_t b, int8x16_t c,
                                        int8x16_t d) {
        vst4q_s64(reinterpret_cast<int64_t*>(out),
                  {{vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b), vreinterpretq_s64_s8(c),
                    vreinterpretq_s64_s8(d)}});
    }
    HOKKU_INLINE static void multiply(int32x4_t (&dots)[2][4], const int8_t* w0, const int8_t* w1,
                                      const int8_t* x) {
        const int8x16_t x0 = vld1q_s8(x), x1 = vld1q_s8(x + 16);
#pragma GCC unroll 2
        for (int q = 0; q < 2; ++q) {
            const int8_t* w = q == 0 ? w0 : w1;
            const int8x16_t front = vld1q_s8(w), back = vld1q_s8(w + 16);
            dots[q][0] = vmmlaq_s32(dots[q][0], front, x0);
            dots[q][1] = vmmlaq_s32(dots[q][1], front, x1);
            dots[q][2] = vmmlaq_s32(dots[q][2], back, x0);
            dots[q][3] = vmmlaq_s32(dots[q][3], back, x1);
        }
    }
    HOKKU_INLINE static Factors of_weights(float32x4_t f) {
        const float32x4_t front = vzip1q_f32(f, f), back = vzip2q_f32(f, f);
        return {{front, front, back, back}};
    }
    HOKKU_INLINE static Factors of_x(float32x4_t f) {
        const float32x4_t front = vcombine_f32(vget_low_f32(f), vget_low_f32(f));
        const float32x4_t back = vcombine_f32(vget_high_f32(f), vget_high_f32(f));
        return {{front, back, front, back}};
    }
    HOKKU_INLINE static void store_rows(const float32x4_t (&sums)[4], float (&out)[4][4]) {
        for (int t = 0; t < 2; ++t) {
            vst1q_f32(out[2 * t], vuzp1q_f32(sums[t], sums[2 + t]));
            vst1q_f32(out[2 * t + 1], vuzp2q_f32(sums[t], sums[2 + t]));
        }
    }
};

}  // namespace

void fill_i8mm_gemm(MatmulKernels& table) {
    fill_gemm<MatrixProducts>(table);
}

}  // namespace hokku::cpu
