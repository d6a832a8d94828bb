// SPDX-License-Identifier: Apache-2.0
// Paths from text and as text: UTF-8 on every system, whatever the path holds. The conversions of
// std::filesystem throw on Windows for what is not valid.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hokku {

/// The path that text of a user or a file names. Windows: invalid parts become U+FFFD.
std::filesystem::path path_from_utf8(std::string_view text);

/// The path as path_from_utf8 takes it: elsewhere than on Windows its bytes as they are.
std::string path_utf8(const std::filesystem::path& path);

/// For messages: the whole path, printable and not too long.
std::string path_text(const std::filesystem::path& path);

/// Its last part; the whole path where that is empty.
std::string file_name_text(const std::filesystem::path& path);

}  // namespace hokku
