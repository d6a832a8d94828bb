// SPDX-License-Identifier: Apache-2.0
#include "base/page_hints.h"

namespace hokku {

bool populate_pages(std::span<const std::byte> mapped) {
    return mapped.empty();  // PrefetchVirtualMemory only begins to read
}

}  // namespace hokku
