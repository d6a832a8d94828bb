// SPDX-License-Identifier: Apache-2.0
// StackGuard: bounds the stack that recursive code may use, whatever the size of its frames in
// this build. The last line behind the counters of nesting.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku::jinja {

class StackGuard {
  public:
    StackGuard() : base_(here()) {}
    /// Whether the stack has grown by more than the budget since construction.
    [[nodiscard]] bool is_exhausted() const {
        const uintptr_t now = here();
        const uintptr_t used = now > base_ ? now - base_ : base_ - now;
        return used > kMaxBytes;
    }

    /// Leaves half of a 512 KiB thread to the caller and to leaf functions.
    static constexpr size_t kMaxBytes = 256u << 10;

  private:
    static uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }
    uintptr_t base_;
};

/// Counts one level while it lives.
class Level {
  public:
    explicit Level(size_t& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

  private:
    size_t& depth_;
};

}  // namespace hokku::jinja
