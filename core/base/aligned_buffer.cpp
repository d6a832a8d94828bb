// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "base/zeroed_pages.h"

namespace hokku {

namespace {

constexpr size_t kVectorBytes = 64;
constexpr std::align_val_t kVectorAlignment{kVectorBytes};

std::byte* allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    if (bytes >= kHugePageBytes) return map_zeroed_pages(bytes);
    const size_t rounded = (bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
    void* memory = ::operator new(rounded, kVectorAlignment, std::nothrow);
    if (memory != nullptr) std::memset(memory, 0, rounded);
    return static_cast<std::byte*>(memory);
}

void release(std::byte* memory, size_t bytes) {
    if (memory == nullptr) return;
    if (bytes >= kHugePageBytes) {
        unmap_zeroed_pages(memory, bytes);
    } else {
        ::operator delete(memory, kVectorAlignment);
    }
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
