// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace hokku {

namespace {

constexpr size_t kVectorAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

/// Large buffers are mapped, so that the system zeroes a page when it is first written: a KV pool
/// of hundreds of megabytes costs nothing at load and takes only the memory that is used.
#ifdef __linux__
std::byte* map_large(size_t bytes) {
    // Mapped with room to spare and trimmed to the alignment of a huge page.
    const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    const size_t mapped = rounded + kHugePage;
    void* memory =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(memory);
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
    if (before > 0) munmap(begin, before);
    if (before < kHugePage) munmap(begin + before + rounded, kHugePage - before);
    madvise(begin + before, rounded, MADV_HUGEPAGE);
    return begin + before;
}
#endif

bool is_large(size_t bytes) {
#ifdef __linux__
    return bytes >= kHugePage;
#else
    static_cast<void>(bytes);
    return false;
#endif
}

std::byte* allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
#ifdef __linux__
    if (is_large(bytes)) return map_large(bytes);
#endif
    const size_t rounded = (bytes + kVectorAlignment - 1) / kVectorAlignment * kVectorAlignment;
    void* memory = std::aligned_alloc(kVectorAlignment, rounded);
    if (!memory) return nullptr;
    std::memset(memory, 0, rounded);
    return static_cast<std::byte*>(memory);
}

void release(std::byte* memory, size_t bytes) {
#ifdef __linux__
    if (memory != nullptr && is_large(bytes)) {
        munmap(memory, (bytes + kHugePage - 1) / kHugePage * kHugePage);
        return;
    }
#endif
    static_cast<void>(bytes);
    std::free(memory);
}

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) {
    if (bytes == 0) return;
    data_ = allocate(bytes);
    if (data_) bytes_ = bytes;
}

AlignedBuffer::~AlignedBuffer() {
    release(data_, bytes_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace hokku
