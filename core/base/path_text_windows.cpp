// SPDX-License-Identifier: Apache-2.0
#include "base/path_text.h"
#include "base/windows_text.h"

namespace hokku {

std::filesystem::path path_from_utf8(std::string_view text) {
    return utf16_from_utf8(text);
}

std::string path_utf8(const std::filesystem::path& path) {
    return utf8_from_utf16(path.native());
}

}  // namespace hokku
