// SPDX-License-Identifier: Apache-2.0
// Forward: one model step on the CPU, from tokens to logits, as one function that all lanes of a
// rank run together. Of a model that is split, each rank runs it on its shard. Stages carry the
// names that traces and the CUDA kernels use.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "backend/communicator.h"
#include "backend/cpu/attention.h"
#include "backend/cpu/head_screen.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/kv_pool.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/step_buffers.h"
#include "backend/cpu/thread_team.h"
#include "model/shard.h"

namespace hokku::cpu {

/// Everything that a step reads and writes; built at load, never resized.
struct ForwardMemory {
    StepBuffers buffers;
    KvPool kv;
    MatmulScratch matmul;
    AttentionScratch attention;
    std::unique_ptr<HeadScreen> screen;  ///< Null: all logits are always computed.
};

/// What one step is about, set by the owning thread before the lanes run. One for all ranks.
struct StepState {
    const Step* step = nullptr;
    const std::function<void(uint32_t)>* before_layer =
        nullptr;                  ///< As in BackendOptions, or null.
    float* all_logits = nullptr;  ///< [logit rows][all tokens], where there are several ranks.
    uint32_t num_rows = 0;
    uint32_t num_vector_rows = 0;    ///< Rows from the front, of slices of few rows.
    uint32_t num_vector_logits = 0;  ///< Wanted rows from the front, where a slice wants few.
    bool use_long_rope = false;
    bool find_nonfinite = false;  ///< Second run of a failed step: look for the first bad layer.
    std::atomic<bool> is_cancelled = false;
    std::atomic<bool> is_nonfinite = false;  ///< Among the logits.
    /// With find_nonfinite: first layer whose residual is not finite; UINT32_MAX: none.
    std::atomic<uint32_t> nonfinite_layer = UINT32_MAX;
};

/// One lane's view of one step. Created by each lane on its stack.
class Forward {
  public:
    /// `others`: this lane's end to the other ranks; null where there are none.
    Forward(const ModelShard& shard, const KernelTable& kernels, ForwardMemory& memory,
            StepState& state, const Lane& lane, Communicator* others);

    /// The whole step. All lanes together; logits are complete when all have returned.
    void run();

  private:
    void wait_for_weights(uint32_t layer) const {
        if (state_.before_layer) (*state_.before_layer)(layer);
    }

    // Stages, in the order in which a layer runs them.
    void place_rows();
    void embed();
    bool run_layer(uint32_t index);  // false: cancelled
    void project_qkv(const AttentionSpec& spec, const LayerWeights& weights);
    void rotate_and_append(const AttentionSpec& spec, const LayerWeights& weights, uint32_t index);
    void keep_wanted_rows();
    void mix_values(const AttentionSpec& spec, const LayerWeights& weights, uint32_t index);
    void run_dense(const FfnSpec& spec, const LayerWeights& weights);
    void run_experts(const FfnSpec& spec, const LayerWeights& weights);
    void run_shared_expert(const FfnSpec& spec, const LayerWeights& weights);
    void route(const ExpertSpec& spec, const LayerWeights& weights);
    void head();
    bool screen_head(const MatmulInput& x, const MatmulTarget& logits);
    void finish_logits(float* logits, size_t n);
    void give_hidden();

    // Parts of stages.
    void norm(float* out, const float* x, const NormWeights& weights, size_t n) const;
    void norm_rows(const NormWeights& weights);
    void norm_heads(QkNorm kind, float* heads, const NormWeights& weights, uint32_t num_heads,
                    uint32_t head_dim) const;
    void prepare_heads(const AttentionSpec& spec, const LayerWeights& weights, uint32_t row,
                       float* q, float* k) const;
    void add_rows(const float* branch, const NormWeights& post_norm);
    void activate(const FfnSpec& spec, float* gate, const float* up, size_t n) const;
    void activate_rows(const FfnSpec& spec, uint32_t num_rows, size_t hidden);
    void multiply(const MatmulInput& input, std::span<const MatmulTarget> targets,
                  Precision precision = Precision::normal);
    [[nodiscard]] MatmulInput all_rows(const float* x, size_t stride) const;
    void norm_q_and_k(const AttentionSpec& spec, const LayerWeights& weights, uint32_t row,
                      float* q, float* k) const;
    void set_num_rows(uint32_t num_rows, uint32_t num_vector_rows);
    void read_ahead(const WeightMatrix& weight) const;
    void settle() const;  // what lanes wrote for shared rows becomes visible
    void look_for_nonfinite(uint32_t layer);

    // What ranks do together; see forward_ranks.cpp.
    [[nodiscard]] bool leads() const;
    void add_up(float* branch);
    void look_up(uint32_t row, float* x) const;
    void embed_together();
    void add_up_head_squares(const AttentionSpec& spec);
    void norm_over_all_heads(float* heads, const NormWeights& weights, size_t n, float squares,
                             size_t num_all) const;
    void gather_logits();
    [[nodiscard]] const LayerShare& share() const { return shard_.plan.layers[layer_]; }

    // Traces; no effect without a trace.
    [[nodiscard]] bool traces_stages() const;
    [[nodiscard]] std::string layer_name() const;
    void trace(std::string_view name, const float* values, size_t n) const;
    void trace_stage(std::string_view name, const float* values, size_t n) const;
    enum class HeadKind { query, kv };
    void trace_heads(std::string_view name, const float* heads, HeadKind kind, uint32_t head_dim,
                     bool is_permuted = false) const;

    const ModelShard& shard_;
    const ModelSpec& spec_;  // the shard's: heads, hidden and tokens of this rank
    const Weights& weights_;
    const KernelTable& kernels_;
    ForwardMemory& memory_;
    StepBuffers& buffers_;
    StepState& state_;
    const Step& step_;
    const Lane& lane_;
    Communicator* others_;
    const LaneBuffers& own_;

    uint32_t num_rows_ = 0;         // rows in work: the step's, at the end only those with logits
    uint32_t num_vector_rows_ = 0;  // of these, from the front, multiplied as in decoding
    bool few_ = false;              // each lane works on all rows in its own buffers
    Lane::Range rows_{};            // rows whose elementwise work is this lane's
    float* x_ = nullptr;            // residual stream [num_rows][dim], own or shared
    float* normed_ = nullptr;       // [num_rows][dim], own or shared
    const float* input_;        // input of the next products: normed_, or x_ where there is no norm
    const float* q_ = nullptr;  // rotated queries of all rows of the step, own or shared
    bool is_narrowed_ = false;  // row i is that of the i-th wanted logits
    uint32_t layer_ = 0;
};

}  // namespace hokku::cpu
