// SPDX-License-Identifier: Apache-2.0
// Page hints: tell the system which parts of a mapped file will be read. They change when pages
// come, not what they hold.
#pragma once

#include <cstddef>
#include <span>

namespace hokku {

/// Reads the bytes and enters their pages in this process's tables, all in one call. False: the
/// system cannot, or a page cannot be read, which who touches the bytes finds out.
bool populate_pages(std::span<const std::byte> mapped);

}  // namespace hokku
