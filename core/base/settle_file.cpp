// SPDX-License-Identifier: Apache-2.0
#include "hokku/settle_file.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/mapped_file.h"
#include "base/page_hints.h"

namespace hokku {

void settle_written_file(const std::filesystem::path& path, const std::function<bool()>& goes_on) {
    drop_written_pages(path);
    const auto file = MappedFile::open(path);
    if (!file.ok() || !(*file)->is_mapped()) return;
    constexpr size_t kPieceBytes = size_t{8} << 20;
    const std::span<const std::byte> bytes = (*file)->bytes();
    for (size_t at = 0; at < bytes.size() && goes_on(); at += kPieceBytes)
        if (!populate_pages(bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at)))) return;
}

}  // namespace hokku
