// SPDX-License-Identifier: Apache-2.0
// AlignedBuffer: one zeroed block of memory, aligned for vector loads and, when large, on huge
// pages where the system gives them. Allocated once; never grows. Pages of a large one take memory
// only when they are first written.
#pragma once

#include <cstddef>

namespace hokku {

class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    /// Leaves the buffer empty (data() null) when the system refuses the memory.
    explicit AlignedBuffer(size_t bytes);
    ~AlignedBuffer();
    AlignedBuffer(AlignedBuffer&& other) noexcept;
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] size_t size_bytes() const { return bytes_; }

  private:
    std::byte* data_ = nullptr;
    size_t bytes_ = 0;
};

/// Hands out consecutive aligned parts of a buffer. Called twice with the same requests: first
/// without a buffer to learn the size, then with it.
class BufferLayout {
  public:
    explicit BufferLayout(std::byte* base = nullptr) : base_(base) {}

    template <class T>
    T* take(size_t count) {
        T* part = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
        used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
        return part;
    }
    [[nodiscard]] size_t used_bytes() const { return used_; }

  private:
    static constexpr size_t kAlignment = 64;
    std::byte* base_;
    size_t used_ = 0;
};

}  // namespace hokku
