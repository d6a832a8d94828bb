// SPDX-License-Identifier: Apache-2.0
// Large memory straight from the system, which zeroes a page when it is first written: a KV pool
// of hundreds of megabytes costs nothing at load and takes only the memory that is used.
#pragma once

#include <cstddef>

namespace hokku {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

/// Aligned for vectors at least; on huge pages where the system gives them. Null when the system
/// refuses.
std::byte* map_zeroed_pages(size_t bytes);
/// With the same number of bytes.
void unmap_zeroed_pages(std::byte* memory, size_t bytes);

}  // namespace hokku
