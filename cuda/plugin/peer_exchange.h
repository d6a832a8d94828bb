// SPDX-License-Identifier: Apache-2.0
// PeerExchange: the memory through which the kernels of several GPUs add up a few vectors without a
// library, where all of them reach each other's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/params.h"
#include "plugin/gpu.h"

namespace hokku::cuda {

/// Threads: as Gpu, but for stop(): any.
class PeerExchange {
  public:
    /// One for each GPU, for vectors of n values; none where a GPU does not reach another.
    /// Errors : device, out_of_memory.
    static Result<std::vector<std::unique_ptr<PeerExchange>>> create(
        std::span<const Gpu* const> gpus, uint32_t n);
    /// What each of so many GPUs has of it; 0: more than the kernels add up.
    static uint64_t bytes(size_t num_ranks, uint32_t n);
    [[nodiscard]] const ExchangeParams& params() const { return params_; }
    /// Kernels wait for no rank any more.
    void stop();

  private:
    PeerExchange() = default;

    GpuMemory memory_;
    PinnedMemory stop_;
    ExchangeParams params_ = {};
};

}  // namespace hokku::cuda
