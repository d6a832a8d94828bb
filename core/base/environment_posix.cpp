// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "base/environment.h"

namespace hokku {

std::optional<std::filesystem::path> environment_path(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::filesystem::path(value);
}

}  // namespace hokku
