// SPDX-License-Identifier: Apache-2.0
// Address space that begins where a huge page may.
#pragma once

#include <cstddef>

namespace hokku {

/// Anonymous pages from a multiple of kHugePageBytes on, with this protection (PROT_NONE costs
/// nothing but addresses). Null when the system refuses.
std::byte* map_aligned_pages(size_t bytes, int protection);

}  // namespace hokku
