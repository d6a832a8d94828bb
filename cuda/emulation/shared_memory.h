// SPDX-License-Identifier: Apache-2.0
// SharedMemory: the shared arrays of one emulated block, each with guards around it. They begin as
// not-a-number, so that what is read before it was written shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hokku::emulation {

class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// The array of this tag; made on the first call. Aligned to 128.
    std::byte* find(const void* tag, size_t bytes, const char* name);
    /// Whether [p, p + bytes) lies inside one array.
    [[nodiscard]] bool contains(const void* p, size_t bytes) const;
    /// Name of an array whose guards were written to; empty: none.
    [[nodiscard]] std::string find_damage() const;
    [[nodiscard]] size_t total_bytes() const;

  private:
    struct Array {
        const void* tag;
        const char* name;
        size_t bytes;
        std::byte* memory;  ///< Guard, array, guard.
    };
    std::vector<Array> arrays_;
};

}  // namespace hokku::emulation
