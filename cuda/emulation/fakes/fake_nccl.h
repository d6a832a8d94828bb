// SPDX-License-Identifier: Apache-2.0
// A NCCL whose ranks are devices of the fake driver. A collective begins when it comes to its turn
// in every rank's stream, as on devices; where a rank never calls it, that is an error after a
// while. Sums are added in the order of the ranks.
#pragma once

#include "driver/nccl_api.h"

namespace hokku::emulation {

class FakeNcclSymbols : public cuda::SymbolSource {
  public:
    [[nodiscard]] void* find(const char* name) const override;
    [[nodiscard]] std::string name() const override { return "fake NCCL"; }
    std::string missing = {};  ///< One function that this library lacks; empty: none.
};

/// How long a collective waits for the other ranks, and the end of
/// communicators for graphs.
void set_fake_nccl_timeout_ms(uint32_t ms);

struct FakeNcclCalls {
    uint32_t call_ms = 0;  ///< That each call takes on the host.
    /// The first of each size waits there for the calls of the other ranks.
    bool are_first_ones_met = false;
};
void set_fake_nccl_calls(const FakeNcclCalls& calls);
/// What was done, since this was asked last, that the library forbids; empty:
/// nothing. Two threads in calls of one communicator, the end of one that a
/// thread is in a call of or that graphs hold calls of, and captured calls that
/// are the first of their size.
std::string take_fake_nccl_misuse();

}  // namespace hokku::emulation
