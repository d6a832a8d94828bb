// SPDX-License-Identifier: Apache-2.0
// SymbolSource: where functions come from by name - a shared library that is opened at run time, or
// a fake in tests. The driver, cuBLAS and NCCL are all found this way.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "hokku/result.h"

namespace hokku::cuda {

class SymbolSource {
  public:
    virtual ~SymbolSource() = default;
    /// Null where there is none of that name.
    [[nodiscard]] virtual void* find(const char* name) const = 0;
    /// For messages: "libcuda.so.1".
    [[nodiscard]] virtual std::string name() const = 0;
};

/// The first of these libraries that can be opened. It is never closed: drivers do not survive it.
///
/// Errors : unsupported, with what the system said about each.
Result<std::unique_ptr<SymbolSource>> open_library(std::span<const char* const> names);

/// Names of the driver's library on this system.
std::span<const char* const> driver_library_names();

}  // namespace hokku::cuda
