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

std::byte* allocate(size_t bytes) {
    const size_t alignment = bytes >= kHugePage ? kHugePage : kVectorAlignment;
    if (bytes > SIZE_MAX - alignment) return nullptr;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (!memory) return nullptr;
#ifdef __linux__
    if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
    std::memset(memory, 0, rounded);
    return static_cast<std::byte*>(memory);
}

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) {
    if (bytes == 0) return;
    data_ = allocate(bytes);
    if (data_) bytes_ = bytes;
}

AlignedBuffer::~AlignedBuffer() {
    std::free(data_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace hokku
