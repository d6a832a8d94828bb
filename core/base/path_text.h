// SPDX-License-Identifier: Apache-2.0
// Paths as text for messages: valid UTF-8 on every system, whatever bytes the path holds.
#pragma once

#include <filesystem>
#include <string>

namespace hokku {

/// The whole path.
std::string path_text(const std::filesystem::path& path);

/// Its last part; the whole path where that is empty.
std::string file_name_text(const std::filesystem::path& path);

}  // namespace hokku
