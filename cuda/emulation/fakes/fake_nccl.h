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

/// How long a collective waits for the other ranks.
void set_fake_nccl_timeout_ms(uint32_t ms);

}  // namespace hokku::emulation
