// SPDX-License-Identifier: Apache-2.0
// Paths in messages.
#pragma once

#include <filesystem>
#include <string>

#include "hokku/paths.h"

namespace hokku {

/// For messages: the whole path, printable and not too long.
std::string path_text(const std::filesystem::path& path);

/// Its last part; the whole path where that is empty.
std::string file_name_text(const std::filesystem::path& path);

}  // namespace hokku
