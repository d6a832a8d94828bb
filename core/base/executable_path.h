// SPDX-License-Identifier: Apache-2.0
// Where the running program lies, to find what was installed beside it.
#pragma once

#include <filesystem>
#include <optional>

namespace hokku {

/// The file that this process runs, links resolved; nullopt when the system does not tell.
std::optional<std::filesystem::path> executable_path();

}  // namespace hokku
