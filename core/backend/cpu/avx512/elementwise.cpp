// SPDX-License-Identifier: Apache-2.0
// Norms, RoPE and activations. Ends of rows go through masked loads and stores.
#include <cstddef>

#include "backend/cpu/avx512/math.h"
#include "backend/cpu/avx512/tables.h"
#include "backend/cpu/kernels.h"

namespace hokku::cpu {

namespace {

/// Calls function(index, lanes) for each 16 of n values, the last ones with fewer lanes.
template <class Function>
HOKKU_INLINE void for_lanes(size_t n, Function function) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) function(i, static_cast<__mmask16>(0xffff));
    if (i < n) function(i, first_lanes(n - i));
}

HOKKU_INLINE float reciprocal_root(float x) {
    return 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
}

void rms_norm(float* out, const float* x, const float* weight, size_t n, float eps) {
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps()};
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        for (size_t k = 0; k < 4; ++k) {
            const __m512 v = _mm512_loadu_ps(x + i + 16 * k);
            sums[k] = _mm512_fmadd_ps(v, v, sums[k]);
        }
    }
    for_lanes(n - i, [&](size_t j, __mmask16 lanes) {
        const __m512 v = _mm512_maskz_loadu_ps(lanes, x + i + j);
        sums[0] = _mm512_fmadd_ps(v, v, sums[0]);
    });
    const __m512 sum =
        _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]));
    const float mean = _mm512_reduce_add_ps(sum) / static_cast<float>(n);
    const __m512 factor = _mm512_set1_ps(reciprocal_root(mean + eps));
    for_lanes(n, [&](size_t j, __mmask16 lanes) {
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + j), factor);
        if (weight) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(lanes, weight + j));
        _mm512_mask_storeu_ps(out + j, lanes, v);
    });
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, size_t n,
                float eps) {
    __m512 sum = _mm512_setzero_ps();
    for_lanes(n, [&](size_t j, __mmask16 lanes) {
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, x + j));
    });
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / static_cast<float>(n));
    __m512 squares = _mm512_setzero_ps();
    for_lanes(n, [&](size_t j, __mmask16 lanes) {
        const __m512 v = _mm512_maskz_sub_ps(lanes, _mm512_maskz_loadu_ps(lanes, x + j), mean);
        squares = _mm512_fmadd_ps(v, v, squares);
    });
    const float variance = _mm512_reduce_add_ps(squares) / static_cast<float>(n);
    const __m512 factor = _mm512_set1_ps(reciprocal_root(variance + eps));
    for_lanes(n, [&](size_t j, __mmask16 lanes) {
        __m512 v = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + j), mean);
        v = _mm512_mul_ps(v, factor);
        if (weight) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(lanes, weight + j));
        if (bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(lanes, bias + j));
        _mm512_mask_storeu_ps(out + j, lanes, v);
    });
}

void rope_halves(float* x, const float* cos_sin, size_t num_dims) {
    const size_t half = num_dims / 2;
    for_lanes(half, [&](size_t j, __mmask16 lanes) {
        const __m512 c = _mm512_maskz_loadu_ps(lanes, cos_sin + j);
        const __m512 s = _mm512_maskz_loadu_ps(lanes, cos_sin + half + j);
        const __m512 a = _mm512_maskz_loadu_ps(lanes, x + j);
        const __m512 b = _mm512_maskz_loadu_ps(lanes, x + half + j);
        _mm512_mask_storeu_ps(x + j, lanes, _mm512_fmsub_ps(a, c, _mm512_mul_ps(b, s)));
        _mm512_mask_storeu_ps(x + half + j, lanes, _mm512_fmadd_ps(a, s, _mm512_mul_ps(b, c)));
    });
}

void rope_interleaved(float* x, const float* cos_sin, size_t num_dims) {
    const size_t half = num_dims / 2;
    // Eight pairs at a time: each cosine and sine twice, the sine of the first of a pair negative.
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    for (size_t i = 0; i < half; i += 8) {
        const size_t count = half - i < 8 ? half - i : 8;
        const __mmask16 angles = first_lanes(count), values = first_lanes(2 * count);
        const __m512 c = _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(angles, cos_sin + i));
        const __m512 s =
            _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(angles, cos_sin + half + i));
        const __m512 v = _mm512_maskz_loadu_ps(values, x + 2 * i);
        const __m512 swapped = _mm512_permute_ps(v, 0xb1);
        _mm512_mask_storeu_ps(x + 2 * i, values,
                              _mm512_fmaddsub_ps(v, c, _mm512_mul_ps(swapped, s)));
    }
}

/// gate[i] = function(gate[i]) * up[i]
template <class Function>
HOKKU_INLINE void activate(float* gate, const float* up, size_t n, Function function) {
    for_lanes(n, [&](size_t i, __mmask16 lanes) {
        __m512 v = function(_mm512_maskz_loadu_ps(lanes, gate + i));
        if (up) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(lanes, up + i));
        _mm512_mask_storeu_ps(gate + i, lanes, v);
    });
}

void silu_mul(float* gate, const float* up, size_t n) {
    activate(gate, up, n, [](__m512 x) { return _mm512_mul_ps(x, sigmoid_floats(x)); });
}

void gelu_tanh_mul(float* gate, const float* up, size_t n) {
    // x (1 + tanh y) / 2 = x sigmoid(2 y), y = sqrt(2 / pi) (x + 0.044715 x^3).
    activate(gate, up, n, [](__m512 x) {
        const __m512 twice_root = _mm512_set1_ps(2.0f * 0.79788456080286535588f);
        const __m512 cubic =
            _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(0.044715f), _mm512_set1_ps(1.0f));
        const __m512 y = _mm512_mul_ps(_mm512_mul_ps(x, cubic), twice_root);
        return _mm512_mul_ps(x, sigmoid_floats(y));
    });
}

void relu_squared_mul(float* gate, const float* up, size_t n) {
    activate(gate, up, n, [](__m512 x) {
        const __m512 positive = _mm512_max_ps(_mm512_setzero_ps(), x);
        return _mm512_mul_ps(positive, positive);
    });
}

void softcap(float* x, float cap, size_t n) {
    const __m512 c = _mm512_set1_ps(cap);
    activate(x, nullptr, n,
             [c](__m512 v) { return _mm512_mul_ps(c, tanh_floats(_mm512_div_ps(v, c))); });
}

void add_scaled(float* x, const float* y, float scale, size_t n) {
    const __m512 s = _mm512_set1_ps(scale);
    for_lanes(n, [&](size_t i, __mmask16 lanes) {
        const __m512 v = _mm512_maskz_loadu_ps(lanes, y + i);
        _mm512_mask_storeu_ps(x + i, lanes,
                              _mm512_fmadd_ps(v, s, _mm512_maskz_loadu_ps(lanes, x + i)));
    });
}

}  // namespace

void fill_avx512_elementwise(KernelTable& table) {
    table.rms_norm = rms_norm;
    table.layer_norm = layer_norm;
    table.rope_halves = rope_halves;
    table.rope_interleaved = rope_interleaved;
    table.silu_mul = silu_mul;
    table.gelu_tanh_mul = gelu_tanh_mul;
    table.relu_squared_mul = relu_squared_mul;
    table.softcap = softcap;
    table.add_scaled = add_scaled;
}

}  // namespace hokku::cpu
