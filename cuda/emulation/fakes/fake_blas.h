// SPDX-License-Identifier: Apache-2.0
// A cuBLAS of plain loops: column-major, with the library's checks of leading dimensions, working
// in the fake driver's streams.
#pragma once

#include "driver/blas_api.h"

namespace hokku::emulation {

class FakeBlasSymbols : public cuda::SymbolSource {
  public:
    [[nodiscard]] void* find(const char* name) const override;
    [[nodiscard]] std::string name() const override { return "fake cuBLAS"; }
    std::string missing = {};  ///< One function that this library lacks; empty: none.
};

}  // namespace hokku::emulation
