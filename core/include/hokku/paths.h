// SPDX-License-Identifier: Apache-2.0
// Paths from text and as text: UTF-8 on every system, whatever the path holds. The conversions of
// std::filesystem read narrow text by a code page on Windows, and throw for what is not valid.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hokku {

/// The path that text of a user or a file names. Windows: invalid parts become U+FFFD.
std::filesystem::path path_from_utf8(std::string_view text);

/// The path as path_from_utf8 takes it: elsewhere than on Windows its bytes as they are.
std::string path_utf8(const std::filesystem::path& path);

}  // namespace hokku
