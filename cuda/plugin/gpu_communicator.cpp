// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_communicator.h"

#include <fmt/format.h>

#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "base/try.h"

namespace hokku::cuda {

bool RankMeeting::wait() {
    std::unique_lock lock(mutex_);
    if (--num_missing_ == 0) changed_.notify_all();
    changed_.wait(lock, [this] { return num_missing_ == 0 || is_ended_; });
    return !is_ended_;
}

void RankMeeting::end() {
    {
        const std::lock_guard lock(mutex_);
        is_ended_ = true;
    }
    changed_.notify_all();
}

Result<std::vector<std::unique_ptr<GpuCommunicator>>> GpuCommunicator::create(
    const NcclApi& api, std::span<const Gpu* const> gpus, AllReduce kind, uint32_t dim) {
    std::vector<std::unique_ptr<PeerExchange>> exchanges;
    if (kind != AllReduce::nccl) {
        HOKKU_TRY(exchanges, PeerExchange::create(gpus, dim));
    }
    if (kind == AllReduce::one_shot && exchanges.empty()) {
        return Error{ErrorCode::unsupported, "GPUs do not reach each other's memory",
                     fmt::format("{} GPUs", gpus.size()), "HOKKU_CUDA_ALL_REDUCE=nccl"};
    }
    std::vector<int32_t> devices;
    for (const Gpu* gpu : gpus) devices.push_back(gpu->info().index);
    std::vector<NcclComm> comms(gpus.size());
    const NcclResult made =
        api.init_all(comms.data(), static_cast<int32_t>(devices.size()), devices.data());
    if (made != NcclResult::success) {
        return Error{ErrorCode::device, fmt::format("NCCL status {}", static_cast<int32_t>(made)),
                     "ncclCommInitAll", ""};
    }
    const auto meeting = std::make_shared<RankMeeting>(static_cast<uint32_t>(gpus.size()));
    std::vector<std::unique_ptr<GpuCommunicator>> ends;
    for (size_t i = 0; i < gpus.size(); ++i) {
        std::unique_ptr<GpuCommunicator> end(new GpuCommunicator(api, *gpus[i]));
        end->comm_ = comms[i];
        end->meeting_ = meeting;
        end->rank_ = static_cast<uint32_t>(i);
        end->num_ranks_ = static_cast<uint32_t>(gpus.size());
        if (!exchanges.empty()) end->exchange_ = std::move(exchanges[i]);
        ends.push_back(std::move(end));
    }
    return ends;
}

GpuCommunicator::~GpuCommunicator() {
    if (comm_ == nullptr || is_aborted_ || !gpu_.make_current().ok()) return;
    api_.destroy(comm_);
}

void GpuCommunicator::all_reduce(std::span<float> values) {
    const std::lock_guard lock(calls_);
    if (is_aborted_) return note(NcclResult::invalid_usage);
    note(api_.all_reduce(values.data(), values.data(), values.size(), NcclType::f32,
                         NcclOperation::sum, comm_, gpu_.stream()));
}

void GpuCommunicator::all_gather(const GatherCall& call) {
    const std::lock_guard lock(calls_);
    if (is_aborted_) return note(NcclResult::invalid_usage);
    note(api_.all_gather(call.part, call.whole, call.cols, NcclType::f32, comm_, gpu_.stream()));
}

void GpuCommunicator::note(NcclResult result) {
    if (result != NcclResult::success) result_ = DriverResult::unknown;
}

DriverResult GpuCommunicator::take_result() {
    return std::exchange(result_, DriverResult::success);
}

void GpuCommunicator::abort_all(std::span<GpuCommunicator* const> ends) {
    // Calls put work into a stream and return. One that does not waits, against
    // all that is known, for a rank that will not come, and the library's own
    // flag alone ends that.
    constexpr std::chrono::seconds kLongestCall{5};
    // Of a lost device nobody knows when its graphs are gone.
    constexpr std::chrono::seconds kLongestAbort{5};
    std::vector<NcclComm> comms;
    for (GpuCommunicator* end : ends) {
        if (end->is_aborted_.exchange(true)) continue;
        if (end->exchange_ != nullptr) end->exchange_->stop();
        end->meeting_->end();
    }
    const auto deadline = std::chrono::steady_clock::now() + kLongestCall;
    for (GpuCommunicator* end : ends) {
        // Later calls see that they are too late: nobody waits here for the aborting.
        const std::unique_lock lock(end->calls_, deadline);
        if (NcclComm comm = std::exchange(end->comm_, nullptr)) comms.push_back(comm);
    }
    if (comms.empty()) return;
    const auto done = std::make_shared<std::promise<void>>();
    const auto abort_them = [done, comms, abort = ends.front()->api_.abort] {
        for (NcclComm comm : comms) abort(comm);
        done->set_value();
    };
    try {
        std::thread(abort_them).detach();
    } catch (const std::system_error&) {  // No thread is to be had.
        abort_them();
    }
    done->get_future().wait_for(kLongestAbort);
}

}  // namespace hokku::cuda
