// SPDX-License-Identifier: Apache-2.0
// GpuBuffers: the memory of a step on a device: what it reads, what lies between kernels, and the
// logits. Laid out before anything runs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/params.h"
#include "model/model_spec.h"
#include "plugin/gpu.h"
#include "plugin/gpu_blas.h"

namespace hokku::cuda {

/// Rows that decoding computes together, and that are looked at by attention's splits at once.
inline constexpr uint32_t kMaxRows = 8;
/// Rows of a prompt that are computed together.
inline constexpr uint32_t kPrefillRows = 512;

/// Best logits of a row that the device looks for, and logits that a block chooses them from.
inline constexpr uint32_t kNumBest = 128;
inline constexpr uint32_t kBestChunk = 4096;

/// What a step reads, one behind the other.
struct StepInput {
    uint32_t* positions = nullptr;   ///< [rows]
    uint32_t* row_bounds = nullptr;  ///< [rows + 1]: where each sequence begins; of prefill.
    uint32_t* tables = nullptr;      ///< [rows][max_blocks]
    float* x = nullptr;              ///< [rows][dim]
    static StepInput lay_out(GpuLayout& layout, uint32_t rows, uint32_t max_blocks, uint32_t dim);
};

/// Vectors with memory for codes, scales and floats.
struct GpuVectors {
    QuantizedVectors all = {};
    static GpuVectors lay_out(GpuLayout& layout, uint32_t n, uint32_t max_rows);
};

struct GpuBuffers {
    float* qkv = nullptr;
    float *sums = nullptr, *maxima = nullptr, *weights = nullptr;  ///< Of splits, for kMaxRows.
    float *gate = nullptr, *up = nullptr;
    float* delta = nullptr;   ///< [dim] of each row: a branch before it is added.
    float* logits = nullptr;  ///< [num_vocab] of kMaxRows rows; of a model with its last layers.
    // The best kNumBest of each chunk of them, and of all.
    float *chunk_values = nullptr, *best_values = nullptr;
    uint32_t *chunk_ids = nullptr, *best_ids = nullptr;
    // Of experts: the router's choices, and what each of them gives for each row.
    float *router_logits = nullptr, *expert_weights = nullptr;
    float *expert_out = nullptr, *shared_out = nullptr, *shared_gate = nullptr;
    uint32_t *expert_ids = nullptr, *expert_outputs = nullptr, *expert_bounds = nullptr;
    // Of products by the library: rows as halves, and a matrix.
    uint16_t *blas_high = nullptr, *blas_low = nullptr, *blas_weights = nullptr;
    float* blas_scales = nullptr;
    std::byte* blas_workspace = nullptr;
    uint32_t* counters = nullptr;  ///< Of fused kernels: heads, then one; zero between launches.
    uint32_t num_counters = 0;
    GpuVectors normed, ffn_normed, attended, activated;
    std::vector<float*> rope_tables;  ///< [positions][num_dims] of each RoPE; laid out elsewhere.
    static GpuBuffers lay_out(GpuLayout& layout, const ModelSpec& spec, uint32_t max_rows,
                              const BlasNeeds& blas);

  private:
    void lay_out_logits(GpuLayout& layout, uint32_t num_vocab);
    void lay_out_experts(GpuLayout& layout, const ModelSpec& spec, uint32_t max_rows);
    void lay_out_blas(GpuLayout& layout, uint32_t max_rows, const BlasNeeds& blas);
};

/// Values of q, k and v of a row.
uint32_t qkv_size(const AttentionSpec& spec);

/// Some of the vectors.
QuantizedVectors rows_of(const QuantizedVectors& vectors, uint32_t first, uint32_t count);

}  // namespace hokku::cuda
