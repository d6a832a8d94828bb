// SPDX-License-Identifier: Apache-2.0
// Counts how often this process asks for memory, in all threads. The executable it is linked into
// gets its own malloc, calloc, realloc, aligned forms and mmap, which count and pass on.
#pragma once

#include <cstdint>

namespace hokku::testing {

/// Requests since the start of the process; 0 in builds where counting is not possible.
uint64_t num_allocations();

/// The n-th request that the calling thread makes from now on is refused; 0: none is.
void refuse_allocation(uint64_t n);

/// false under the sanitizers, which replace the allocator themselves.
bool can_count_allocations();

}  // namespace hokku::testing
