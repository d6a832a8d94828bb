// SPDX-License-Identifier: Apache-2.0
#include "base/page_hints.h"

namespace hokku {

void prefer_huge_pages(std::span<const std::byte> /*mapped*/) {}  // files have none here

bool populate_pages(std::span<const std::byte> mapped) {
    return mapped.empty();  // PrefetchVirtualMemory only begins to read
}

void unmap_pages(std::span<const std::byte> /*mapped*/) {}

bool collapse_pages(std::span<const std::byte> /*mapped*/) {
    return false;
}

void drop_written_pages(const std::filesystem::path& /*path*/) {}

}  // namespace hokku
