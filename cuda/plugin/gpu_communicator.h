// SPDX-License-Identifier: Apache-2.0
// GpuCommunicator: the core's Communicator between GPUs of this machine, over NCCL. Values lie on
// the devices, and what is done is done in the order of each device's stream, in graphs too.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/communicator.h"
#include "driver/nccl_api.h"
#include "plugin/gpu.h"
#include "plugin/peer_exchange.h"

namespace hokku::cuda {

/// How the sums of few rows are made: where GPUs reach each other's memory by kernels of our own,
/// else by NCCL; or as one of them alone. Those of prompts are NCCL's.
enum class AllReduce : uint8_t { automatic, nccl, one_shot };

/// Threads: an end belongs to the thread of its rank, but for abort(): any.
class GpuCommunicator final : public Communicator {
  public:
    /// One end for each GPU. `dim`: values of a row.
    /// Errors : device, out_of_memory; unsupported: one_shot where a GPU does not reach another.
    static Result<std::vector<std::unique_ptr<GpuCommunicator>>> create(
        const NcclApi& api, std::span<const Gpu* const> gpus, AllReduce kind = AllReduce::nccl,
        uint32_t dim = 0);
    GpuCommunicator(const GpuCommunicator&) = delete;
    GpuCommunicator& operator=(const GpuCommunicator&) = delete;
    ~GpuCommunicator() override;

    [[nodiscard]] uint32_t rank() const override { return rank_; }
    [[nodiscard]] uint32_t num_ranks() const override { return num_ranks_; }
    void all_reduce(std::span<float> values) override;
    /// Needs  : one row, of as many columns on every rank, wanted by every rank.
    void all_gather(const GatherCall& call) override;
    /// For kernels that add up rows themselves; null: all_reduce() does.
    [[nodiscard]] const ExchangeParams* exchange() const {
        return exchange_ != nullptr ? &exchange_->params() : nullptr;
    }
    /// How the calls since the last time went.
    DriverResult take_result();
    /// Ends what others wait for. All calls fail afterwards.
    void abort();

  private:
    GpuCommunicator(const NcclApi& api, const Gpu& gpu) : api_(api), gpu_(gpu) {}
    void note(NcclResult result);

    NcclApi api_;
    const Gpu& gpu_;
    NcclComm comm_ = nullptr;
    std::unique_ptr<PeerExchange> exchange_;
    uint32_t rank_ = 0, num_ranks_ = 1;
    std::atomic<bool> is_aborted_ = false;  ///< The library has freed comm_.
    DriverResult result_ = DriverResult::success;
};

}  // namespace hokku::cuda
