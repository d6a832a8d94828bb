// SPDX-License-Identifier: Apache-2.0
// GpuForward: the launches of a step of up to eight rows, in the order that the CPU's Forward has
// them. All memory is there before; rows that a launch has too many write to a block of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/params.h"
#include "model/model_spec.h"
#include "plugin/gpu.h"
#include "plugin/gpu_weights.h"
#include "plugin/kv_memory.h"

namespace hokku::cuda {

/// What a step reads, one behind the other, so that it is one copy.
struct StepInput {
    uint32_t* positions = nullptr;  ///< [rows]
    uint32_t* tables = nullptr;     ///< [rows][max_blocks]
    float* x = nullptr;             ///< [rows][dim]
    static StepInput lay_out(GpuLayout& layout, uint32_t rows, uint32_t max_blocks, uint32_t dim);
};

/// Vectors with memory for codes, scales and floats.
struct GpuVectors {
    QuantizedVectors all = {};
    static GpuVectors lay_out(GpuLayout& layout, uint32_t n);
};

/// Buffers of up to kMaxRows rows.
struct GpuBuffers {
    float* qkv = nullptr;
    float *sums = nullptr, *maxima = nullptr, *weights = nullptr;  ///< Of splits.
    float *gate = nullptr, *up = nullptr;
    float* delta = nullptr;   ///< [dim] of each row: a branch before it is added.
    float* logits = nullptr;  ///< [num_vocab] of each row.
    GpuVectors normed, ffn_normed, attended, activated;
    std::vector<float*> rope_tables;  ///< [positions][num_dims] of each RoPE; laid out elsewhere.
    static GpuBuffers lay_out(GpuLayout& layout, const ModelSpec& spec);
};

/// Called after a stage; `download` copies values of the last row.
struct GpuTrace {
    uint32_t row = 0;       ///< Of the launch.
    uint32_t position = 0;  ///< Of that row.
    uint32_t block = 0;     ///< That its position lies in.
    bool stages = false;
    std::function<void(const std::string& name, std::span<const float> values)> on_values;
};

class GpuForward {
  public:
    GpuForward(const Gpu& gpu, const ModelSpec& spec, const GpuWeights& weights)
        : gpu_(gpu), spec_(spec), weights_(weights) {}

    /// The kernels that do not depend on weight types.
    /// Errors : unsupported, naming the kernel that no module has.
    Result<void> find_kernels(KvType kv_type);

    /// All launches of a step into the stream; `bucket` is the logarithm of the rows.
    Result<void> issue(uint32_t bucket, const StepInput& input, const GpuBuffers& buffers,
                       const KvMemory& kv, bool has_head, const GpuTrace* trace = nullptr);

  private:
    struct Shape {
        uint32_t grid_x = 1, grid_y = 1, grid_z = 1, num_threads = 32;
    };
    /// What all parts of a step need.
    struct Call {
        uint32_t bucket, rows;
        const StepInput& input;
        const GpuBuffers& buffers;
        const KvMemory& kv;
        const GpuTrace* trace;
    };

    template <class Params>
    void launch(FunctionHandle function, const Shape& shape, const Params& params) {
        launch_bytes(function, shape, &params);
    }
    void launch_bytes(FunctionHandle function, const Shape& shape, const void* params);

    void run_layer(const Call& call, uint32_t index);
    void run_attention(const Call& call, uint32_t index);
    void run_ffn(const Call& call, uint32_t index, const QuantizedVectors& input);
    void norm(const Call& call, const GpuNorm& norm, const QuantizedVectors& out);
    void multiply(const Call& call, const GpuMatrix& matrix, const QuantizedVectors& x,
                  const float* residual, float* out, uint32_t out_stride);
    /// The product at the end of a branch, added to x.
    void add_branch(const Call& call, const GpuMatrix& matrix, const QuantizedVectors& x,
                    const GpuNorm& post_norm, std::string_view stage, uint32_t index);
    [[nodiscard]] QuantizedVectors vectors_for(const Call& call, const GpuVectors& vectors,
                                               uint32_t n,
                                               std::span<const GpuMatrix* const> users) const;

    void trace_values(const Call& call, const std::string& name, const float* values, size_t stride,
                      size_t n, uint32_t head_dim = 0);
    void trace_stage(const Call& call, uint32_t index, std::string_view name, const float* values,
                     size_t stride, size_t n, uint32_t head_dim = 0);
    void trace_key(const Call& call, uint32_t index, const AttentionSpec& spec);
    std::vector<float> download(const float* values, size_t n);

    const Gpu& gpu_;
    const ModelSpec& spec_;
    const GpuWeights& weights_;
    DriverResult status_ = DriverResult::success;  ///< Of the first call that failed.
    const char* failed_call_ = "";
    FunctionHandle norm_quantize_ = nullptr, norm_add_ = nullptr, rope_append_ = nullptr,
                   attention_combine_ = nullptr, activate_quantize_ = nullptr;
    std::vector<FunctionHandle> attention_;  ///< For 1 to 8 heads.
};

}  // namespace hokku::cuda
