// SPDX-License-Identifier: Apache-2.0
#include "hokku/replace_file.h"

#include <span>

#include "base/file_writer.h"
#include "base/try.h"

namespace hokku {

Result<void> replace_file(const std::filesystem::path& path, std::string_view bytes) {
    HOKKU_TRY(FileWriter writer, FileWriter::create(path));
    HOKKU_CHECK(writer.append(std::as_bytes(std::span(bytes))));
    return writer.commit();
}

}  // namespace hokku
