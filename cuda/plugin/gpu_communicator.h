// SPDX-License-Identifier: Apache-2.0
// GpuCommunicator: the core's Communicator between GPUs of this machine, over NCCL. Values lie on
// the devices, and what is done is done in the order of each device's stream, in graphs too.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
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

/// Where threads wait for each other on the host, once.
class RankMeeting {
  public:
    explicit RankMeeting(uint32_t num_ranks) : num_missing_(num_ranks) {}
    /// Until all have come; false: somebody has ended it.
    bool wait();
    void end();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t num_missing_;
    bool is_ended_ = false;
};

/// The library lets one thread at a time work with a communicator, and ends the
/// last of a group only when the graphs that hold calls of them are gone: each
/// call has the end's lock, and who aborts sees to the graphs (RanksBackend).
///
/// Threads: an end belongs to the thread of its rank, but for abort_all(): any.
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
    /// Waits until every rank has come here; false: one has aborted. Calls that
    /// are the first of their size find the ways between the devices, for which
    /// the library waits on the host: no rank makes them before all can.
    bool meet() { return meeting_->wait(); }
    /// How the calls since the last time went.
    DriverResult take_result();
    /// Of all ends of a group: ends what others wait for; all calls fail
    /// afterwards. Waits until the graphs that hold calls are destroyed, but not
    /// for ever.
    static void abort_all(std::span<GpuCommunicator* const> ends);

  private:
    GpuCommunicator(const NcclApi& api, const Gpu& gpu) : api_(api), gpu_(gpu) {}
    void note(NcclResult result);

    NcclApi api_;
    const Gpu& gpu_;
    NcclComm comm_ = nullptr;
    std::unique_ptr<PeerExchange> exchange_;
    std::shared_ptr<RankMeeting> meeting_;  // of all ends
    std::timed_mutex calls_;                ///< Whoever is in the library.
    uint32_t rank_ = 0, num_ranks_ = 1;
    std::atomic<bool> is_aborted_ = false;  ///< The library frees comm_.
    DriverResult result_ = DriverResult::success;
};

}  // namespace hokku::cuda
