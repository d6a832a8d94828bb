// SPDX-License-Identifier: Apache-2.0
#include "base/path_text.h"

#include "base/utf8.h"

namespace hokku {

std::string path_text(const std::filesystem::path& path) {
    return to_printable(path_utf8(path), 1024);
}

std::string file_name_text(const std::filesystem::path& path) {
    return path_text(path.has_filename() ? path.filename() : path);
}

}  // namespace hokku
