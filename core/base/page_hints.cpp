// SPDX-License-Identifier: Apache-2.0
#include "base/page_hints.h"

#include <algorithm>

#include "base/zeroed_pages.h"

namespace hokku {

void read_in_passing(std::span<const std::byte> mapped, const std::function<bool()>& goes_on) {
    for (size_t at = 0; at < mapped.size() && goes_on(); at += kHugePageBytes) {
        const auto piece = mapped.subspan(at, std::min(kHugePageBytes, mapped.size() - at));
        if (!populate_pages(piece)) return;
        unmap_pages(piece);
    }
}

}  // namespace hokku
