// SPDX-License-Identifier: Apache-2.0
#include "emulation/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

// HOKKU_EMULATION_TSAN comes from the build: this file itself is not instrumented for it.
#if defined(HOKKU_EMULATION_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// hokku_switch_stack(save, to): stores the callee-saved registers on the stack, its address in
// *save, and goes on with those stored at `to`.
#if defined(__x86_64__)
extern "C" void hokku_switch_stack(void** save, void* to);
asm(R"(
.text
.globl hokku_switch_stack
.hidden hokku_switch_stack
.type hokku_switch_stack,@function
hokku_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size hokku_switch_stack, .-hokku_switch_stack
)");
#elif defined(__aarch64__)
extern "C" void hokku_switch_stack(void** save, void* to);
asm(R"(
.text
.globl hokku_switch_stack
.hidden hokku_switch_stack
.type hokku_switch_stack,%function
hokku_switch_stack:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size hokku_switch_stack, .-hokku_switch_stack
)");
#else
#error "the emulator's stack switch is written for x86-64 and AArch64"
#endif

namespace hokku::emulation {

namespace {

/// The scheduler's own stack, while a fiber runs.
struct Home {
    void* stack_pointer = nullptr;
    void* race_context = nullptr;
    void* fake_stack = nullptr;
    const void* stack_bottom = nullptr;
    size_t stack_bytes = 0;
} home;

size_t page_bytes() {
    static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

/// A stack on which hokku_switch_stack finds what it would have stored in `entry`'s caller.
void* first_frame(std::byte* top, void (*entry)()) {
#if defined(__x86_64__)
    constexpr size_t kWords = 8, kEntryWord = 6;  // Six registers, entry, no return address.
#else
    constexpr size_t kWords = 20, kEntryWord = 11;  // x30
#endif
    uint64_t words[kWords] = {};
    words[kEntryWord] = reinterpret_cast<uint64_t>(entry);
    std::memcpy(top - sizeof words, words, sizeof words);
    return top - sizeof words;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(HOKKU_EMULATION_TSAN)
const size_t FiberStacks::kBytes = size_t{256} << 10;  // Instrumented frames are large.
#else
const size_t FiberStacks::kBytes = size_t{64} << 10;
#endif

FiberStacks::~FiberStacks() {
    for (std::byte* stack : all_) munmap(stack - page_bytes(), kBytes + page_bytes());
}

std::byte* FiberStacks::take() {
    if (free_.empty()) {
        void* memory = mmap(nullptr, kBytes + page_bytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        mprotect(memory, page_bytes(), PROT_NONE);
        all_.push_back(static_cast<std::byte*>(memory) + page_bytes());
        return all_.back();
    }
    std::byte* stack = free_.back();
    free_.pop_back();
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stack, kBytes);
#endif
#if defined(HOKKU_EMULATION_TSAN)
    // Mapped anew, so that what the fiber before did there is no race with the next one's. An order
    // between the two would hide the races of a thread with those that ended before it.
    const IgnoreAccesses ignore;
    void* fresh = mmap(stack, kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (fresh == MAP_FAILED) return nullptr;
#endif
    return stack;
}

void FiberStacks::give_back(std::byte* stack) {
    free_.push_back(stack);
}

void Fiber::start(std::byte* stack, void (*entry)()) {
    stack_ = stack;
    stack_pointer_ = first_frame(stack + FiberStacks::kBytes, entry);
    fake_stack_ = nullptr;
#if defined(HOKKU_EMULATION_TSAN)
    race_context_ = __tsan_create_fiber(0);
#endif
}

void Fiber::resume() {
#if defined(HOKKU_EMULATION_TSAN)
    home.race_context = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(race_context_, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&home.fake_stack, stack_, FiberStacks::kBytes);
#endif
    hokku_switch_stack(&home.stack_pointer, stack_pointer_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home.fake_stack, nullptr, nullptr);
#endif
}

void Fiber::entered() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &home.stack_bottom, &home.stack_bytes);
#endif
}

void Fiber::suspend() {
#if defined(HOKKU_EMULATION_TSAN)
    __tsan_switch_to_fiber(home.race_context, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_stack_, home.stack_bottom, home.stack_bytes);
#endif
    hokku_switch_stack(&stack_pointer_, home.stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, &home.stack_bottom, &home.stack_bytes);
#endif
}

void Fiber::suspend_for_good() {
#if defined(HOKKU_EMULATION_TSAN)
    __tsan_switch_to_fiber(home.race_context, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(nullptr, home.stack_bottom, home.stack_bytes);
#endif
    hokku_switch_stack(&stack_pointer_, home.stack_pointer);
    std::abort();  // Never resumed.
}

void Fiber::forget() {
#if defined(HOKKU_EMULATION_TSAN)
    if (race_context_ != nullptr) __tsan_destroy_fiber(race_context_);
#endif
    race_context_ = nullptr;
    stack_ = nullptr;
}

#if defined(HOKKU_EMULATION_TSAN)
void release(void* place) {
    __tsan_release(place);
}
void acquire(void* place) {
    __tsan_acquire(place);
}
IgnoreAccesses::IgnoreAccesses() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
IgnoreAccesses::~IgnoreAccesses() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
void release(void*) {}
void acquire(void*) {}
IgnoreAccesses::IgnoreAccesses() = default;
IgnoreAccesses::~IgnoreAccesses() = default;
#endif

}  // namespace hokku::emulation
