// SPDX-License-Identifier: Apache-2.0
#include "base/path_text.h"

namespace hokku {

std::filesystem::path path_from_utf8(std::string_view text) {
    return text;
}

std::string path_utf8(const std::filesystem::path& path) {
    return path.native();
}

}  // namespace hokku
