// SPDX-License-Identifier: Apache-2.0
// exp and tanh of a register of floats, within 2 ulp of the exact value over their whole range.
// The polynomials are own minimax fits (Lawson's method; maximal errors stated). Internal linkage
// on purpose.
#pragma once

#include "backend/cpu/simd/floats.h"

namespace hokku::cpu {
namespace {

/// e^x; NaN stays NaN, overflow gives infinity, underflow 0.
HOKKU_INLINE Floats exp_floats(Floats x) {
    x = at_most(splat(90.0f), at_least(splat(-106.0f), x));
    const Floats n = nearest_integer(mul(x, splat(1.44269504f)));
    // ln 2 in two parts, the first short enough for an exact product.
    Floats r = sub_mul(n, splat(0x1.62e4p-1f), x);
    r = sub_mul(n, splat(0x1.7f7d1cp-20f), r);
    // (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, error 3e-9.
    Floats p = splat(1.395048820e-03f);
    p = mul_add(p, r, splat(8.368887667e-03f));
    p = mul_add(p, r, splat(4.166620585e-02f));
    p = mul_add(p, r, splat(1.666651885e-01f));
    p = mul_add(p, r, splat(5.000000095e-01f));
    p = mul_add(p, mul(r, r), r);
    return scale_by_power(add(p, splat(1.0f)), n);
}

/// 1 / (1 + e^-x)
HOKKU_INLINE Floats sigmoid_floats(Floats x) {
    const Floats one = splat(1.0f);
    return div(one, add(one, exp_floats(sub(zero(), x))));
}

HOKKU_INLINE Floats tanh_floats(Floats x) {
    // Near zero x + x^3 P(x^2), |x| <= 0.6, error 3e-9; elsewhere 1 - 2 / (e^2x + 1).
    const Floats z = mul(x, x);
    Floats p = splat(-5.905868360e-03f);
    p = mul_add(p, z, splat(2.080538455e-02f));
    p = mul_add(p, z, splat(-5.378668356e-02f));
    p = mul_add(p, z, splat(1.333195824e-01f));
    p = mul_add(p, z, splat(-3.333329927e-01f));
    const Floats near = mul_add(mul(p, z), x, x);
    const Floats one = splat(1.0f), size = magnitude(x);
    const Floats e = exp_floats(add(size, size));
    const Floats far = sub(one, div(splat(2.0f), add(e, one)));
    return choose(is_less(size, splat(0.6f)), near, with_sign(far, x));
}

}  // namespace
}  // namespace hokku::cpu
