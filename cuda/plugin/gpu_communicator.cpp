// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_communicator.h"

#include <fmt/format.h>

#include <utility>

namespace hokku::cuda {

Result<std::vector<std::unique_ptr<GpuCommunicator>>> GpuCommunicator::create(
    const NcclApi& api, std::span<const Gpu* const> gpus) {
    std::vector<int32_t> devices;
    for (const Gpu* gpu : gpus) devices.push_back(gpu->info().index);
    std::vector<NcclComm> comms(gpus.size());
    const NcclResult made =
        api.init_all(comms.data(), static_cast<int32_t>(devices.size()), devices.data());
    if (made != NcclResult::success) {
        return Error{ErrorCode::device, fmt::format("NCCL status {}", static_cast<int32_t>(made)),
                     "ncclCommInitAll", ""};
    }
    std::vector<std::unique_ptr<GpuCommunicator>> ends;
    for (size_t i = 0; i < gpus.size(); ++i) {
        std::unique_ptr<GpuCommunicator> end(new GpuCommunicator(api, *gpus[i]));
        end->comm_ = comms[i];
        end->rank_ = static_cast<uint32_t>(i);
        end->num_ranks_ = static_cast<uint32_t>(gpus.size());
        ends.push_back(std::move(end));
    }
    return ends;
}

GpuCommunicator::~GpuCommunicator() {
    if (comm_ == nullptr || is_aborted_ || !gpu_.make_current().ok()) return;
    api_.destroy(comm_);
}

void GpuCommunicator::all_reduce(std::span<float> values) {
    if (is_aborted_) return note(NcclResult::invalid_usage);
    note(api_.all_reduce(values.data(), values.data(), values.size(), NcclType::f32,
                         NcclOperation::sum, comm_, gpu_.stream()));
}

void GpuCommunicator::all_gather(const GatherCall& call) {
    if (is_aborted_) return note(NcclResult::invalid_usage);
    note(api_.all_gather(call.part, call.whole, call.cols, NcclType::f32, comm_, gpu_.stream()));
}

void GpuCommunicator::note(NcclResult result) {
    if (result != NcclResult::success) result_ = DriverResult::unknown;
}

DriverResult GpuCommunicator::take_result() {
    return std::exchange(result_, DriverResult::success);
}

void GpuCommunicator::abort() {
    if (!is_aborted_.exchange(true)) api_.abort(comm_);
}

}  // namespace hokku::cuda
