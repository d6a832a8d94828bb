// SPDX-License-Identifier: Apache-2.0
#include "base/path_text.h"

#include "base/utf8.h"

namespace hokku {

std::string path_text(const std::filesystem::path& path) {
    const std::u8string utf8 = path.u8string();
    return to_printable({reinterpret_cast<const char*>(utf8.data()), utf8.size()}, 1024);
}

std::string file_name_text(const std::filesystem::path& path) {
    return path_text(path.has_filename() ? path.filename() : path);
}

}  // namespace hokku
