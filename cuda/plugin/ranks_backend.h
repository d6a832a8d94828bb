// SPDX-License-Identifier: Apache-2.0
// RanksBackend: tensor parallel over several GPUs of this machine. Each has a shard of the model
// and a thread; they add up what their heads and hidden values give twice in each layer. The host
// looks embeddings up and puts the logits of all shards together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "driver/nccl_api.h"
#include "model/model.h"
#include "model/shard_plan.h"
#include "plugin/cuda_backend.h"
#include "plugin/gpu_communicator.h"

namespace hokku::cuda {

inline constexpr uint32_t kMaxGpuRanks = 8;

/// Does the same on one thread for each rank. That of rank 0 is the caller's.
class RankThreads {
  public:
    explicit RankThreads(uint32_t num_ranks);
    ~RankThreads();
    RankThreads(const RankThreads&) = delete;
    RankThreads& operator=(const RankThreads&) = delete;
    void run(const std::function<void(uint32_t rank)>& work);

  private:
    void serve(uint32_t rank);

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void(uint32_t)>* work_ = nullptr;
    uint64_t round_ = 0;
    uint32_t num_busy_ = 0;
    bool is_ending_ = false;
    std::vector<std::thread> threads_;
};

/// What one GPU of several has of a model.
struct GpuShard {
    Model model;                       ///< Without an embedding.
    std::vector<ShardRange> kv_heads;  ///< Of each layer.
};

/// One for each rank.
/// Errors : unsupported, naming what cannot be split so.
Result<std::vector<GpuShard>> shard_for_gpus(const Model& model, uint32_t num_ranks);

/// Errors : run: as CudaBackend; an error of one rank's device is one of all.
/// Threads: as Backend. Steps are stopped between each other.
class RanksBackend final : public Backend {
  public:
    /// `gpus`, `model` and `shards` must outlive it. `report` gets the share of rank 0.
    static Result<std::unique_ptr<RanksBackend>> create(
        std::span<const Gpu* const> gpus, const Model& model, std::span<const GpuShard> shards,
        const BackendOptions& options, const NcclApi& nccl, const CudaOptions& own,
        const std::function<Result<void>(double)>& report);
    ~RanksBackend() override;

    Result<std::span<const float>> run(const Step& step) override;
    void copy_block(uint32_t from, uint32_t to) override;
    [[nodiscard]] uint64_t kv_block_bytes() const override;
    void read_block(uint32_t block, uint32_t num_tokens, std::span<std::byte> out) const override;
    void write_block(uint32_t block, std::span<const std::byte> bytes) override;
    Result<void> grow_kv(uint32_t num_blocks) override;
    [[nodiscard]] std::optional<uint64_t> growth_blocks(uint64_t machine_bytes) const override;
    [[nodiscard]] const BackendInfo& info() const override { return info_; }

  private:
    struct Rank {
        std::unique_ptr<GpuCommunicator> others;
        std::unique_ptr<CudaBackend> backend;
        std::vector<std::byte> block;  ///< Its part of one.
        uint32_t first_token = 0, num_tokens = 0;
        bool has_ended = false;  ///< Its part of what run_ranks() does.
        std::span<const float> logits;
    };
    RanksBackend(const Model& model, std::span<const GpuShard> shards,
                 const BackendOptions& options);
    /// Does it on every rank; the first error. `do_meet`: they wait for each other, so that where
    /// one fails none can go on.
    Result<void> run_ranks(bool do_meet, const std::function<Result<void>(Rank&, uint32_t)>& work);
    /// On the thread of a rank that failed: the others stop waiting for it.
    /// `lock` has ending_.
    void end_all(std::unique_lock<std::mutex>& lock);
    void take_info();
    /// visit(rank, offset in its part of a block, offset in the block, bytes).
    template <class Visit>
    void for_each_part(Visit visit) const;

    const Model& model_;
    std::vector<const Gpu*> gpus_;
    std::span<const GpuShard> shards_;
    BackendOptions options_;
    mutable std::vector<Rank> ranks_;
    std::mutex ending_;  ///< Of has_ended and is_ending_.
    bool is_ending_ = false;
    std::vector<float> hidden_, logits_, scratch_;
    BackendInfo info_;
    std::optional<Error> lost_;
    RankThreads threads_;
};

}  // namespace hokku::cuda
