// SPDX-License-Identifier: Apache-2.0
// RanksTrace: what several GPUs trace of a step, told as one device would:
// heads of all of them, everything else as the first one has it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "model/model_spec.h"
#include "model/shard_plan.h"

namespace hokku::cuda {

/// Threads: each rank notes its own; the rest one at a time.
class RanksTrace {
  public:
    explicit RanksTrace(uint32_t num_ranks, bool has_stages);
    RanksTrace(const RanksTrace&) = delete;  // Traces note into it.
    RanksTrace& operator=(const RanksTrace&) = delete;
    /// For the step of a rank.
    StepTrace& of(uint32_t rank) { return ranks_[rank].trace; }
    /// `kv_heads`: of each layer, those of a rank; ranks that share a head have
    /// the same of it.
    void tell(const StepTrace& to, const ModelSpec& spec,
              std::span<const std::vector<ShardRange>> kv_heads) const;

  private:
    struct Rank {
        StepTrace trace;
        std::vector<std::pair<std::string, std::vector<float>>> values;
    };
    std::vector<Rank> ranks_;
};

}  // namespace hokku::cuda
