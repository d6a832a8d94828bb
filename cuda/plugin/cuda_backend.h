// SPDX-License-Identifier: Apache-2.0
// CudaBackend: the Backend on one NVIDIA GPU, of a model or of some of its layers. Weights, KV
// cache and buffers lie on the device; a step is a graph that was captured before, one for each
// number of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "model/model.h"
#include "plugin/context_memory.h"
#include "plugin/cuda_plan.h"
#include "plugin/gpu.h"
#include "plugin/gpu_blas.h"
#include "plugin/gpu_forward.h"
#include "plugin/gpu_weights.h"
#include "plugin/host_logits.h"

namespace hokku::cuda {

/// Asked before each piece of a step, besides the step's own token; a function may be none.
struct StopCheck {
    bool (*is_stopped)(const void* context) = nullptr;
    const void* context = nullptr;
};

/// What is the device's own affair.
struct CudaOptions {
    /// One row is one cooperative launch where the kernel does all of its operations.
    bool is_persistent = false;
    const BlasApi* blas = nullptr;  ///< Null: there is no cuBLAS.
    PrefillProducts products = PrefillProducts::own;
    GpuCommunicator* others = nullptr;  ///< The model is one rank's shard.
    AllReduce all_reduce = AllReduce::automatic;
};

class CudaBackend final : public Backend {
  public:
    /// `gpu` and `model` must outlive it. `report` gets the share of the weights that are there.
    ///
    /// Errors : unsupported, bad_argument, out_of_memory, device; what `report` returns.
    static Result<std::unique_ptr<CudaBackend>> create(
        const Gpu& gpu, const Model& model, const BackendOptions& options,
        const std::function<Result<void>(double)>& report, const CudaOptions& own = {});
    ~CudaBackend() override;

    Result<std::span<const float>> run(const Step& step) override { return run(step, {}); }
    Result<std::span<const float>> run(const Step& step, const StopCheck& stop);
    void copy_block(uint32_t from, uint32_t to) override;
    [[nodiscard]] uint64_t kv_block_bytes() const override { return kv_.file_block_bytes(); }
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override;
    void write_block(uint32_t block, std::span<const std::byte> bytes) override;
    Result<void> grow_kv(uint32_t num_blocks) override;
    [[nodiscard]] std::optional<uint64_t> growth_blocks(uint64_t machine_bytes) const override;
    [[nodiscard]] const BackendInfo& info() const override { return info_; }
    /// Of one that runs no more steps: destroys what was captured.
    /// Threads: any, while no other is in here.
    void drop_graphs();

  private:
    /// Rows of a step that are launched together.
    struct Piece {
        uint32_t first = 0, count = 0;
        bool is_prefill = false;
        size_t first_logits = 0, num_logits = 0;  ///< Among the step's.
    };
    struct Graph {
        GraphExecHandle exec = nullptr;
    };

    CudaBackend(const Gpu& gpu, const Model& model, const BackendOptions& options)
        : gpu_(gpu), model_(model), options_(options) {}
    Result<void> start(const std::function<Result<void>(double)>& report);
    Result<void> start_buffers();
    Result<void> meet_others(GpuCommunicator& others);
    /// Takes the place of what there is.
    Result<void> use_context(ContextMemory context);
    Result<void> make_programs();
    [[nodiscard]] std::string kernel_names() const;
    [[nodiscard]] GpuStep bucket_step(uint32_t bucket, HeadOutput head) const;
    Result<void> capture_graphs();
    void destroy_graphs(std::vector<Graph>& graphs) const;
    Result<Graph> capture(uint32_t bucket, HeadOutput head);

    [[nodiscard]] Result<void> check_owner();
    // cuda_step.cpp
    Result<void> run_pieces(const Step& step,
                            const std::function<void(uint32_t layer)>& on_nonfinite);
    Result<void> run_piece(const Step& step, const Piece& piece, const GpuTrace* trace);
    Result<void> decode(const Step& step, const Piece& piece, const GpuTrace* trace);
    Result<void> prefill(const Step& step, const Piece& piece, const GpuTrace* trace);
    Result<void> for_logit_runs(
        const Step& step, const Piece& piece,
        const std::function<Result<void>(uint32_t, uint32_t, size_t)>& use) const;
    Result<void> copy_logits(HeadOutput head, uint32_t row, uint32_t count, size_t place);
    Result<void> copy_hidden(const Piece& piece, const StepInput& input);
    [[nodiscard]] HeadOutput output_of(const Step& step) const;
    void fill_rows(const Step& step, const Piece& piece, const StepInput& input);

    [[nodiscard]] std::span<const HeadOutput> head_outputs() const;
    Result<void> finish_logits(const Step& step);
    Error describe_nonfinite(const Step& step);
    void keep_error(Result<void> result) const;

    const Gpu& gpu_;
    const Model& model_;
    BackendOptions options_;
    CudaOptions own_options_;
    GpuMemory weight_memory_, buffer_memory_;
    GpuWeights weights_;
    GpuBuffers buffers_;
    ContextMemory context_;
    KvMemory& kv_ = context_.kv;
    HostLogits logits_;    ///< Of a model with its last layers, ...
    PinnedMemory hidden_;  ///< ... or the residual stream behind those it has, [rows][dim].
    std::unique_ptr<GpuBlas> blas_;
    std::optional<GpuForward> forward_;
    std::vector<Graph> graphs_;  ///< Of each bucket with each of head_outputs().
    BackendInfo info_;
    mutable std::optional<Error> error_;  ///< The device is lost; every step fails from then on.
    std::vector<float> learned_;          // [dim], of a position
    StopCheck stop_;                      // of the step in work
    std::thread::id owner_;
};

}  // namespace hokku::cuda
