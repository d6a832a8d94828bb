// SPDX-License-Identifier: Apache-2.0
// CudaBackend: the Backend on one NVIDIA GPU. Weights, KV cache and buffers lie on the device; a
// step is a graph that was captured before, one for each number of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "model/model.h"
#include "plugin/gpu.h"
#include "plugin/gpu_forward.h"
#include "plugin/gpu_weights.h"
#include "plugin/kv_memory.h"

namespace hokku::cuda {

/// What a model takes on a device and what there is.
struct CudaPlan {
    uint64_t free_bytes = 0, total_bytes = 0;
    uint64_t weight_bytes = 0;
    uint64_t fixed_bytes = 0;     ///< Buffers, and what the driver needs for kernels and graphs.
    uint64_t kv_block_bytes = 0;  ///< Of each block, tables included.
};

/// Errors : unsupported: what the model asks for and kernels do not compute, by name.
Result<void> check_cuda_features(const ModelSpec& spec, KvType kv_type);

/// Errors : as check_cuda_features(); device.
Result<CudaPlan> plan_cuda(const Gpu& gpu, const Model& model, KvType kv_type);

/// Asked before each eight rows, besides the step's own token; a function may be none.
struct StopCheck {
    bool (*is_stopped)(const void* context) = nullptr;
    const void* context = nullptr;
};

class CudaBackend final : public Backend {
  public:
    /// `gpu` and `model` must outlive it. `report` gets the share of the weights that are there.
    ///
    /// Errors : unsupported, bad_argument, out_of_memory, device; what `report` returns.
    static Result<std::unique_ptr<CudaBackend>> create(
        const Gpu& gpu, const Model& model, const BackendOptions& options,
        const std::function<Result<void>(double)>& report);
    ~CudaBackend() override;

    Result<std::span<const float>> run(const Step& step) override { return run(step, {}); }
    Result<std::span<const float>> run(const Step& step, const StopCheck& stop);
    void copy_block(uint32_t from, uint32_t to) override;
    [[nodiscard]] uint64_t kv_block_bytes() const override { return kv_.file_block_bytes(); }
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override;
    void write_block(uint32_t block, std::span<const std::byte> bytes) override;
    Result<void> grow_kv(uint32_t num_blocks) override;
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    /// What depends on the number of KV blocks.
    struct ContextMemory {
        KvMemory kv;
        GpuMemory memory;
        PinnedMemory staging;
        StepInput inputs[kNumBuckets];       ///< On the device ...
        StepInput host_inputs[kNumBuckets];  ///< ... and where they are put together.
        size_t input_bytes[kNumBuckets] = {};
        std::vector<float*> rope_tables;
    };
    struct Graph {
        GraphExecHandle exec = nullptr;
    };

    CudaBackend(const Gpu& gpu, const Model& model, const BackendOptions& options)
        : gpu_(gpu), model_(model), options_(options) {}
    Result<void> start(const std::function<Result<void>(double)>& report);
    [[nodiscard]] Result<ContextMemory> make_context(uint32_t num_blocks) const;
    [[nodiscard]] Result<void> fill_rope_tables(const ContextMemory& context,
                                                uint32_t num_blocks) const;
    /// Takes the place of what there is.
    Result<void> use_context(ContextMemory context);
    Result<void> capture_graphs();
    void destroy_graphs(std::vector<Graph>& graphs) const;
    Result<Graph> capture(uint32_t bucket, bool has_head);
    Result<void> copy_input(uint32_t bucket);

    [[nodiscard]] Result<void> check_owner();
    /// The rows [first, first + count) of a step.
    Result<void> run_rows(const Step& step, uint32_t first, uint32_t count, size_t first_logits,
                          size_t num_logits, const GpuTrace* trace);
    Result<void> run_all_rows(const Step& step, StepTrace* trace,
                              const std::function<void(uint32_t layer)>& on_nonfinite);
    void fill_input(const Step& step, uint32_t first, uint32_t count, uint32_t bucket);
    Result<void> finish_logits(const Step& step);
    Error describe_nonfinite(const Step& step);
    void keep_error(Result<void> result) const;

    const Gpu& gpu_;
    const Model& model_;
    BackendOptions options_;
    GpuMemory weight_memory_, buffer_memory_;
    GpuWeights weights_;
    GpuBuffers buffers_;
    ContextMemory context_;
    KvMemory& kv_ = context_.kv;
    PinnedMemory logits_;
    std::optional<GpuForward> forward_;
    std::vector<Graph> graphs_;  ///< Of each bucket without and with the head.
    BackendInfo info_;
    mutable std::optional<Error> error_;  ///< The device is lost; every step fails from then on.
    std::vector<float> learned_;          // [dim], of a position
    StopCheck stop_;                      // of the step in work
    std::thread::id owner_;
};

}  // namespace hokku::cuda
