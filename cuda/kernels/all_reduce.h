// SPDX-License-Identifier: Apache-2.0
// The sum of what several GPUs give for a vector, by kernels that write into each other's memory:
// each pushes its part to all others, says so, waits for theirs and adds all up itself.
#pragma once

#include "device/device.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// Looks for a word of a peer between looks for the host's.
constexpr uint32_t kLooksForStop = 256;

/// Tells one peer that this rank's part is there, and waits for its.
HOKKU_DEVICE void meet_peer(const ExchangeParams& p, uint32_t vector, uint32_t peer,
                            uint32_t call) {
    const uint32_t place = vector * kMaxExchangeRanks;
    store_release_system(p.arrivals[peer] + place + p.rank, call);
    const uint32_t* arrival = p.arrivals[p.rank] + place + peer;
    uint32_t num_looks = 0;
    spin_until([&] {
        // A peer may be one call ahead.
        if (static_cast<int32_t>(load_acquire_system(arrival) - call) >= 0) return true;
        return ++num_looks % kLooksForStop == 0 && load_acquire_system(p.stop) != 0;
    });
}

/// values[n] becomes the sum of all ranks', added in the order of the ranks: the same bits on each.
/// By one block; thread i has the values i, i + num_threads(), .. A slot is written again two calls
/// later, when its owner has told in the call between that it is behind this one.
HOKKU_DEVICE void all_reduce_vector(const ExchangeParams& p, float* values, uint32_t n,
                                    uint32_t vector) {
    const uint32_t call = p.num_calls[vector] + 1;
    const uint64_t half = uint64_t{call % 2} * p.num_ranks;
    const auto slot = [&](uint32_t owner, uint32_t from) {
        return p.slots[owner] + ((half + from) * kMaxExchangeRows + vector) * n;
    };
    HOKKU_NO_UNROLL
    for (uint32_t peer = 0; peer < p.num_ranks; ++peer) {
        if (peer == p.rank) continue;
        float* out = slot(peer, p.rank);
        for (uint32_t i = thread_id(); i < n; i += num_threads()) out[i] = values[i];
    }
    block_barrier();
    if (thread_id() < p.num_ranks && thread_id() != p.rank) {
        meet_peer(p, vector, thread_id(), call);
    }
    block_barrier();
    if (thread_id() == 0) p.num_calls[vector] = call;
    for (uint32_t i = thread_id(); i < n; i += num_threads()) {
        float sum = 0;
        HOKKU_NO_UNROLL
        for (uint32_t from = 0; from < p.num_ranks; ++from) {
            sum += from == p.rank ? values[i] : slot(p.rank, from)[i];
        }
        values[i] = sum;
    }
}

}  // namespace hokku::cuda
