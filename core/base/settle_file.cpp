// SPDX-License-Identifier: Apache-2.0
#include "hokku/settle_file.h"

#include "base/mapped_file.h"
#include "base/page_hints.h"

namespace hokku {

void settle_written_file(const std::filesystem::path& path, const std::function<bool()>& goes_on) {
    drop_written_pages(path);
    const auto file = MappedFile::open(path);
    if (!file.ok() || !(*file)->is_mapped()) return;
    read_in_passing((*file)->bytes(), goes_on);
}

}  // namespace hokku
