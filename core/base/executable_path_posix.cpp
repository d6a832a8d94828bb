// SPDX-License-Identifier: Apache-2.0
#include <system_error>

#include "base/executable_path.h"

namespace hokku {

std::optional<std::filesystem::path> executable_path() {
    std::error_code error;
    std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return std::nullopt;
    return path;
}

}  // namespace hokku
