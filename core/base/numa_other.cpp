// SPDX-License-Identifier: Apache-2.0
#include "base/numa.h"

namespace hokku {

// Windows keeps threads near their memory by itself, and files have no node to choose there.

ThreadBinding::ThreadBinding(std::span<const uint32_t> /*cpus*/) {}
ThreadBinding::~ThreadBinding() = default;

bool place_memory(std::span<std::byte> /*memory*/, std::span<const uint32_t> /*nodes*/) {
    return false;
}

InterleavedPages::InterleavedPages(std::span<const uint32_t> /*nodes*/) {}
InterleavedPages::~InterleavedPages() = default;

}  // namespace hokku
