// SPDX-License-Identifier: Apache-2.0
// GpuForward: the launches of a step, in the order that the CPU's Forward has them: of up to eight
// rows with kernels that read each weight once, of the rows of prompts with those of tensor cores.
// All memory is there before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/round_up.h"
#include "kernels/params.h"
#include "model/model_spec.h"
#include "plugin/gpu.h"
#include "plugin/gpu_blas.h"
#include "plugin/gpu_buffers.h"
#include "plugin/gpu_launcher.h"
#include "plugin/gpu_weights.h"
#include "plugin/kv_memory.h"

namespace hokku::cuda {

/// Called after a stage with the values of some rows, one after another.
struct GpuTrace {
    uint32_t row = 0, num_rows = 1;  ///< Of the launch.
    uint32_t position = 0;           ///< Of the first of them.
    uint32_t block = 0;              ///< That this position lies in.
    bool stages = false;
    std::function<void(const std::string& name, std::span<const float> values)> on_values;
};

/// The rows of a step. Those of decoding are any, each with a table of its own, at most kMaxRows
/// and a power of two; those of prefill are whole sequences or parts, one after another.
struct GpuRows {
    uint32_t count = 1;
    uint32_t num_sequences = 0;  ///< 0: decoding.
    uint32_t longest = 0;        ///< Rows of the longest of them.
    [[nodiscard]] bool is_prefill() const { return num_sequences > 0; }
};

/// What is made of the rows of a step in the end: nothing, all logits, the best kNumBest of them.
enum class HeadOutput : uint8_t { none, all, best };
inline constexpr uint32_t kNumHeadOutputs = 3;

/// What a step works on.
struct GpuStep {
    GpuRows rows;
    const StepInput& input;
    const GpuBuffers& buffers;
    const KvMemory& kv;
    HeadOutput head = HeadOutput::none;  ///< Of all rows; of prefill what issue_head() makes.
    const GpuTrace* trace = nullptr;
    /// One row whose products end with what follows them.
    [[nodiscard]] bool is_fused() const { return rows.count == 1 && trace == nullptr; }
};

class GpuForward {
  public:
    /// `blas` may be null: products are those of kernels. `others`: the end to the other ranks of a
    /// model that is split over several GPUs, or null.
    GpuForward(const Gpu& gpu, const ModelSpec& spec, const GpuWeights& weights,
               const GpuBlas* blas, PrefillProducts products, GpuCommunicator* others)
        : gpu_(gpu),
          launcher_(gpu),
          spec_(spec),
          weights_(weights),
          blas_(blas),
          products_(products),
          others_(others) {}

    /// The kernels that do not depend on weight types.
    /// Errors : unsupported, naming the kernel that no module has.
    Result<void> find_kernels(KvType kv_type);

    /// All launches of a step into the stream.
    Result<void> issue(const GpuStep& step);
    /// Behind a prefill: logits of the rows [first, first + count), at most kMaxRows, to the first
    /// places.
    Result<void> issue_head(const GpuStep& step, uint32_t first, uint32_t count);

    /// What the rows of prompts go through, for people: ", prompts by int8 kernels, flash
    /// attention".
    [[nodiscard]] std::string prefill_kernels() const;

    /// The step of one row for issue_program(); empty where the kernel does not do all of it.
    Result<PersistentProgram> make_program(GpuStep step);
    Result<void> issue_program(const GpuStep& step, const PersistentProgram& program);

  private:
    /// Where a product goes.
    struct Output {
        const float* residual;
        float* out;
        uint32_t stride;
        const NormParams* next = nullptr;    ///< The norm that follows.
        const NormAddParams* add = nullptr;  ///< Before that: how `out` is added to x.
    };
    /// The end of a branch of a layer.
    struct Branch {
        const GpuNorm& post_norm;
        std::string_view stage;
        uint32_t index;
        std::optional<NormParams> next;
    };

    // gpu_forward.cpp
    void run_layer(const GpuStep& step, uint32_t index);
    void run_head(const GpuStep& step, uint32_t first, uint32_t count);
    void select_best(const GpuStep& step, uint32_t count);
    [[nodiscard]] NormParams norm_params(const GpuStep& step, const GpuNorm& norm,
                                         const QuantizedVectors& out) const;
    void norm(const NormParams& params);
    [[nodiscard]] std::optional<NormParams> norm_behind(const GpuStep& step, uint32_t index) const;
    [[nodiscard]] QuantizedVectors mixer_input(const GpuStep& step, uint32_t index) const;
    [[nodiscard]] QuantizedVectors ffn_input(const GpuStep& step, uint32_t index) const;
    [[nodiscard]] QuantizedVectors vectors_for(const GpuStep& step, const GpuVectors& vectors,
                                               uint32_t n,
                                               std::span<const GpuMatrix* const> users) const;

    // gpu_products.cpp
    void multiply(const GpuStep& step, const GpuMatrix& matrix, const QuantizedVectors& x,
                  const Output& output);
    static LaunchSize gemv_size(const GpuMatrix& matrix);
    static GemvParams gemv_params(const GpuMatrix& matrix, const QuantizedVectors& x,
                                  const Output& output);
    static FloatGemvParams float_gemv_params(const GpuMatrix& matrix, const QuantizedVectors& x,
                                             const Output& output);
    static GemmParams gemm_params(const GpuMatrix& matrix, const QuantizedVectors& x,
                                  const Output& output);
    void multiply_few(const GpuMatrix& matrix, const QuantizedVectors& x, const Output& output);
    void multiply_many(const GpuStep& step, const GpuMatrix& matrix, const QuantizedVectors& x,
                       const Output& output);
    /// The end of a branch: `produce` gives it, what it gives is added to x; and the next norm.
    void add_branch(const GpuStep& step, const Branch& branch,
                    const std::function<void(const Output&)>& produce);
    void add_ranks_branch(const GpuStep& step, const Branch& branch,
                          const std::function<void(const Output&)>& produce);
    [[nodiscard]] NormAddParams norm_params_of(const GpuNorm& norm, float* y, uint32_t n,
                                               uint32_t stride) const;
    [[nodiscard]] NormAddParams add_params(const GpuStep& step, const GpuNorm& post_norm) const;
    void finish(const Output& output, uint32_t num_rows);
    void run_ffn(const GpuStep& step, uint32_t index, const QuantizedVectors& input);
    QuantizedVectors activate_products(const GpuStep& step, uint32_t index, uint32_t hidden,
                                       const QuantizedVectors& input);
    void activate(const GpuStep& step, const FfnSpec& spec, uint32_t hidden,
                  const QuantizedVectors& out);

    // gpu_library_products.cpp
    [[nodiscard]] bool is_by_library(const GpuMatrix& matrix) const;
    void multiply_by_library(const GpuStep& step, const GpuMatrix& matrix,
                             const QuantizedVectors& x, const Output& output);

    // gpu_experts.cpp
    void run_experts(const GpuStep& step, uint32_t index, const QuantizedVectors& input);
    void route(const GpuStep& step, uint32_t index, const QuantizedVectors& input);
    void multiply_experts(const GpuStep& step, const ExpertSpec& spec, const GpuExperts& experts,
                          const QuantizedVectors& x, uint32_t outputs_of_vector, float* out);
    void run_shared_expert(const GpuStep& step, uint32_t index, const QuantizedVectors& input);

    // gpu_attention.cpp
    void run_attention(const GpuStep& step, uint32_t index, const QuantizedVectors& normed);
    void run_qkv(const GpuStep& step, uint32_t index, const QuantizedVectors& normed);
    void norm_whole(const GpuStep& step, const GpuNorm& norm, float* heads, uint32_t n,
                    uint32_t stride);
    [[nodiscard]] RopeParams rope_params(const GpuStep& step, uint32_t index) const;
    void attend_splits(const GpuStep& step, uint32_t index, const QuantizedVectors& out,
                       uint32_t first_row);
    void attend_flash(const GpuStep& step, uint32_t index, const QuantizedVectors& out);

    // gpu_trace.cpp
    [[nodiscard]] std::string layer_name(uint32_t index) const;
    void trace_values(const GpuStep& step, const std::string& name, const float* values,
                      size_t stride, size_t n, uint32_t head_dim = 0);
    void trace_stage(const GpuStep& step, uint32_t index, std::string_view name,
                     const float* values, size_t stride, size_t n, uint32_t head_dim = 0);
    void trace_key(const GpuStep& step, uint32_t index, const AttentionSpec& spec);

    const Gpu& gpu_;
    GpuLauncher launcher_;
    const ModelSpec& spec_;
    const GpuWeights& weights_;
    const GpuBlas* blas_;
    PrefillProducts products_;
    GpuCommunicator* others_;
    FunctionHandle norm_quantize_ = nullptr, norm_add_ = nullptr, all_reduce_norm_ = nullptr,
                   rope_append_ = nullptr, attention_combine_ = nullptr,
                   activate_quantize_ = nullptr, quantize_rows_ = nullptr, route_experts_ = nullptr,
                   sort_experts_ = nullptr, combine_experts_ = nullptr, top_k_ = nullptr,
                   split_rows_f16_ = nullptr, split_rows_bf16_ = nullptr, finish_rows_ = nullptr,
                   persistent_step_ = nullptr;
    uint32_t persistent_blocks_ = 0;         ///< That are resident.
    std::vector<FunctionHandle> attention_;  ///< For 1 to 8 heads.
    std::vector<FunctionHandle> flash_;      ///< For heads of up to 64, 128, 256; or none.
};

/// Query heads of one block of attention at most.
inline constexpr uint32_t kMaxAttentionHeads = 8;

/// Of the model's kind, or none.
uint32_t norm_kind(const ModelSpec& spec, const GpuNorm& norm);

}  // namespace hokku::cuda
