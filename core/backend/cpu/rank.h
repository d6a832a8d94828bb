// SPDX-License-Identifier: Apache-2.0
// Rank: a shard of a model with the memory of its steps and the lanes that run it. A model that is
// not split is one rank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/barrier.h"
#include "backend/cpu/forward.h"
#include "hokku/result.h"
#include "model/shard.h"

namespace hokku::cpu {

/// Whether a model is not split and its logits are products of its head with nothing added, of a
/// type for which a screen may pay.
bool screens_head(const ModelSpec& spec, const Weights& weights, const KernelTable& kernels,
                  const BackendOptions& options);

struct Rank {
    Rank(ModelShard its_shard, ForwardMemory its_memory, uint32_t num_lanes);

    /// Errors : out_of_memory.
    static Result<std::unique_ptr<Rank>> create(ModelShard shard, uint32_t num_lanes,
                                                const KernelTable& kernels,
                                                const BackendOptions& options);

    [[nodiscard]] uint64_t scratch_bytes() const;
    /// Weight bytes read to decode one token, but for the embedding's row.
    [[nodiscard]] uint64_t bytes_per_token() const;

    ModelShard shard;
    ForwardMemory memory;
    Barrier barrier;  ///< Of its lanes.
    /// On which its lanes run; empty on a machine with one.
    std::vector<uint32_t> numa_nodes = {};
};

}  // namespace hokku::cpu
