// SPDX-License-Identifier: Apache-2.0
#include "emulation/shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace hokku::emulation {

namespace {

constexpr size_t kAlignment = 128, kGuard = 256;
constexpr std::byte kFill{0xff};  // NaN as float and as half.

/// Where the guard behind the array ends.
size_t whole_bytes(size_t bytes) {
    return (kGuard + bytes + kGuard + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

SharedMemory::~SharedMemory() {
    for (const Array& array : arrays_) {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(array.memory, whole_bytes(array.bytes));
#endif
        std::free(array.memory);
    }
}

std::byte* SharedMemory::find(const void* tag, size_t bytes, const char* name) {
    for (const Array& array : arrays_) {
        if (array.tag == tag) return array.memory + kGuard;
    }
    const size_t whole = whole_bytes(bytes);
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
    if (memory == nullptr) throw std::bad_alloc();
    std::fill_n(memory, whole, kFill);
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(memory, kGuard);
    __asan_poison_memory_region(memory + kGuard + bytes, whole - kGuard - bytes);
#endif
    arrays_.push_back({tag, name, bytes, memory});
    return memory + kGuard;
}

bool SharedMemory::contains(const void* p, size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(p);
    return std::any_of(arrays_.begin(), arrays_.end(), [&](const Array& array) {
        const std::byte* begin = array.memory + kGuard;
        return first >= begin && first + bytes <= begin + array.bytes;
    });
}

std::string SharedMemory::find_damage() const {
    for (const Array& array : arrays_) {
        const size_t whole = whole_bytes(array.bytes);
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(array.memory, whole);
#endif
        const std::byte* behind = array.memory + kGuard + array.bytes;
        const auto is_intact = [](std::byte b) { return b == kFill; };
        if (!std::all_of(array.memory, array.memory + kGuard, is_intact) ||
            !std::all_of(behind, const_cast<const std::byte*>(array.memory) + whole, is_intact)) {
            return array.name;
        }
    }
    return {};
}

size_t SharedMemory::total_bytes() const {
    size_t total = 0;
    for (const Array& array : arrays_) total += array.bytes;
    return total;
}

}  // namespace hokku::emulation
