// SPDX-License-Identifier: Apache-2.0
// A shared library that is opened at run time. It is never closed: what it started may run on.
#pragma once

#include <filesystem>
#include <string>

#include "hokku/result.h"

namespace hokku {

class SharedLibrary {
  public:
    /// Errors : unsupported, with what the system said.
    static Result<SharedLibrary> open(const std::filesystem::path& path);
    /// Null where there is none of that name.
    [[nodiscard]] void* find(const char* name) const;

    /// "hokku_cuda" to "libhokku_cuda.so" or "hokku_cuda.dll".
    static std::string file_name(const std::string& stem);

  private:
    void* handle_ = nullptr;
};

}  // namespace hokku
