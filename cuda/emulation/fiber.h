// SPDX-License-Identifier: Apache-2.0
// Fiber: a call stack of its own that a scheduler enters and that gives control back by itself.
// AddressSanitizer and ThreadSanitizer are told of every switch.
#pragma once

#include <cstddef>
#include <vector>

namespace hokku::emulation {

/// Stacks with a page below each that must not be touched. They are kept and handed out again.
///
/// Threads: one thread at a time.
class FiberStacks {
  public:
    FiberStacks() = default;
    FiberStacks(const FiberStacks&) = delete;
    FiberStacks& operator=(const FiberStacks&) = delete;
    ~FiberStacks();
    /// Lowest address of kBytes bytes; null where the system has none left.
    std::byte* take();
    void give_back(std::byte* stack);
    static const size_t kBytes;

  private:
    std::vector<std::byte*> all_, free_;
};

/// One fiber. resume() is called by the scheduler's own stack, suspend() by the running fiber.
///
/// Threads: all fibers of a scheduler run on one thread.
class Fiber {
  public:
    /// Prepares the first resume(), which calls entry(). entry must end in suspend_for_good().
    void start(std::byte* stack, void (*entry)());
    void resume();
    void suspend();
    [[noreturn]] void suspend_for_good();
    /// First call of entry(), before anything else.
    static void entered();
    /// Gives up what the sanitizers know of it; it will not run again.
    void forget();
    [[nodiscard]] std::byte* stack() const { return stack_; }

  private:
    std::byte* stack_ = nullptr;
    void* stack_pointer_ = nullptr;
    void* race_context_ = nullptr;  ///< ThreadSanitizer's.
    void* fake_stack_ = nullptr;    ///< AddressSanitizer's.
};

/// What ThreadSanitizer must know of the order that a primitive gives: what was done before
/// release(p) is seen after acquire(p). Nothing without it.
void release(void* place);
void acquire(void* place);

/// While one lives, ThreadSanitizer looks at no access of the fiber: the runtime's own data.
class IgnoreAccesses {
  public:
    IgnoreAccesses();
    ~IgnoreAccesses();
    IgnoreAccesses(const IgnoreAccesses&) = delete;
    IgnoreAccesses& operator=(const IgnoreAccesses&) = delete;
};

}  // namespace hokku::emulation
