// SPDX-License-Identifier: Apache-2.0
// exp and tanh of 16 floats, within 2 ulp of the exact value over their whole range. The
// polynomials are own minimax fits (Lawson's method; maximal errors stated). Internal linkage on
// purpose.
#pragma once

#include "backend/cpu/avx512/simd.h"

namespace hokku::cpu {
namespace {

/// e^x; NaN stays NaN, overflow gives infinity, underflow 0.
HOKKU_INLINE __m512 exp_floats(__m512 x) {
    // The order of the operands lets NaN through. Beyond the limits the result is 0 or infinite.
    x = _mm512_min_ps(_mm512_set1_ps(90.0f), _mm512_max_ps(_mm512_set1_ps(-106.0f), x));
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln 2 in two parts, the first short enough for an exact product.
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62e4p-1f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.7f7d1cp-20f), r);
    // (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, error 3e-9.
    __m512 p = _mm512_set1_ps(1.395048820e-03f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.368887667e-03f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.166620585e-02f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.666651885e-01f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.000000095e-01f));
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
    return _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0f)), n);
}

/// 1 / (1 + e^-x)
HOKKU_INLINE __m512 sigmoid_floats(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 minus_x = _mm512_sub_ps(_mm512_setzero_ps(), x);
    return _mm512_div_ps(one, _mm512_add_ps(one, exp_floats(minus_x)));
}

HOKKU_INLINE __m512 tanh_floats(__m512 x) {
    const __m512 magnitude = _mm512_abs_ps(x);
    // Near zero x + x^3 P(x^2), |x| <= 0.6, error 3e-9; elsewhere 1 - 2 / (e^2x + 1).
    const __m512 z = _mm512_mul_ps(x, x);
    __m512 p = _mm512_set1_ps(-5.905868360e-03f);
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(2.080538455e-02f));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(-5.378668356e-02f));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(1.333195824e-01f));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(-3.333329927e-01f));
    const __m512 near = _mm512_fmadd_ps(_mm512_mul_ps(p, z), x, x);
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 e = exp_floats(_mm512_add_ps(magnitude, magnitude));
    const __m512 far =
        _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2.0f), _mm512_add_ps(e, one)));
    const __m512 sign = _mm512_and_ps(x, _mm512_set1_ps(-0.0f));
    const __mmask16 is_near = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(0.6f), _CMP_LT_OQ);
    return _mm512_mask_mov_ps(_mm512_or_ps(far, sign), is_near, near);
}

}  // namespace
}  // namespace hokku::cpu
