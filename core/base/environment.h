// SPDX-License-Identifier: Apache-2.0
// Environment variables that hold a path, in whatever characters the system allows in one.
#pragma once

#include <filesystem>
#include <optional>

namespace hokku {

/// nullopt when the variable is absent or empty. `name` is ASCII.
std::optional<std::filesystem::path> environment_path(const char* name);

}  // namespace hokku
