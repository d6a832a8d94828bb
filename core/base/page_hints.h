// SPDX-License-Identifier: Apache-2.0
// Page hints: tell the system which parts of a mapped file will be read, and how. They change when
// pages come and how large they are, not what they hold.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

namespace hokku {

/// Asks for huge pages where what is mapped is not in memory yet: a processor finds its way through
/// few huge pages faster than through many small ones. To be called before any byte is touched.
void prefer_huge_pages(std::span<const std::byte> mapped);

/// Reads the bytes and enters their pages in this process's tables, all in one call. False: the
/// system cannot, or a page cannot be read, which who touches the bytes finds out.
bool populate_pages(std::span<const std::byte> mapped);

/// Takes the pages out of this process's tables; they stay in memory as long as the system likes.
void unmap_pages(std::span<const std::byte> mapped);

/// Brings the bytes into memory, a huge page at a time, and lets each go at once, so that they are
/// never this process's. `goes_on` is asked before each; false, or a system that cannot, leaves the
/// rest.
void read_in_passing(std::span<const std::byte> mapped, const std::function<bool()>& goes_on);

/// Moves bytes that lie in memory in small pages to huge ones, at once, for every process that maps
/// them; those in huge pages stay where they are. Only whole huge pages within the bytes count.
/// False: the system does not do that here, and need not be asked again.
bool collapse_pages(std::span<const std::byte> mapped);

/// Drops a file's pages from memory once the disk has them: one that came in pieces lies in small
/// pages, and read again through prefer_huge_pages() it comes in huge ones. For files that this
/// process has just written, as nobody else may be at work on them.
void drop_written_pages(const std::filesystem::path& path);

}  // namespace hokku
