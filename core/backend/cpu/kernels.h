// SPDX-License-Identifier: Apache-2.0
// KernelTable: the inner loops of the CPU backend for one instruction set. Tables are chosen at
// run time by name; HOKKU_CPU=reference|avx2|avxvnni|avx512|amxbf16|amx|asimd|neon|i8mm forces one.
// Entries are plain functions on raw pointers, compiled in files that hold nothing else (see
// docs/architecture.md, "ISA files").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hokku/result.h"

namespace hokku::cpu {

struct MatmulKernels;     // see matmul_kernels.h
struct AttentionKernels;  // see attention_kernels.h

struct KernelTable {
    const char*
        name;  ///< "reference", "avx2", "avxvnni", "avx512", "amxbf16", "amx", "asimd", "neon"...

    /// out[i] = x[i] / rms(x) * weight[i]; weight may be null; out may be x.
    void (*rms_norm)(float* out, const float* x, const float* weight, size_t n, float eps);
    /// out[i] = (x[i] - mean) / sqrt(var + eps) * weight[i] + bias[i]; bias may be null.
    void (*layer_norm)(float* out, const float* x, const float* weight, const float* bias, size_t n,
                       float eps);
    /// Rotates pairs (x[i], x[i + n/2]), n = num_dims; cos_sin [num_dims/2] cosines, then sines.
    void (*rope_halves)(float* x, const float* cos_sin, size_t num_dims);
    /// Rotates pairs (x[2i], x[2i + 1]).
    void (*rope_interleaved)(float* x, const float* cos_sin, size_t num_dims);
    /// gate[i] = activation(gate[i]) * up[i]; up may be null: activation alone.
    void (*silu_mul)(float* gate, const float* up, size_t n);
    void (*gelu_tanh_mul)(float* gate, const float* up, size_t n);
    void (*gelu_erf_mul)(float* gate, const float* up, size_t n);
    void (*relu_squared_mul)(float* gate, const float* up, size_t n);
    /// x[i] = cap * tanh(x[i] / cap)
    void (*softcap)(float* x, float cap, size_t n);
    /// x[i] += scale * y[i]
    void (*add_scaled)(float* x, const float* y, float scale, size_t n);

    const MatmulKernels* matmul;
    const AttentionKernels* attention;
};

/// The best table that this machine can run, or the one that HOKKU_CPU names.
/// Errors : unsupported when the forced one is unknown or cannot run here.
Result<const KernelTable*> select_kernels();
/// Of all processors, best first.
std::span<const std::string_view> kernel_names();
/// A table by name; nullptr when unknown or when this CPU cannot run it.
const KernelTable* find_kernels(std::string_view name);

}  // namespace hokku::cpu
