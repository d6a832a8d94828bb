// SPDX-License-Identifier: Apache-2.0
#include "engine/allocation_counter.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOKKU_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<uint64_t> count{0};
thread_local uint64_t num_until_refusal = 0;  // 0: none is refused

/// Notes a request for memory. false: it is to be refused.
bool take_request() {
    ++count;
    return num_until_refusal == 0 || --num_until_refusal > 0;
}

}  // namespace

#ifdef HOKKU_COUNTS_ALLOCATIONS

// glibc's own functions under their second names.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
    return take_request() ? __libc_malloc(bytes) : nullptr;
}
void* calloc(size_t num, size_t bytes) {
    return take_request() ? __libc_calloc(num, bytes) : nullptr;
}
void* realloc(void* old, size_t bytes) {
    return take_request() ? __libc_realloc(old, bytes) : nullptr;
}
void* memalign(size_t alignment, size_t bytes) {
    return take_request() ? __libc_memalign(alignment, bytes) : nullptr;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
    return take_request() ? __libc_memalign(alignment, bytes) : nullptr;
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
    *out = take_request() ? __libc_memalign(alignment, bytes) : nullptr;
    return *out == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
    ++count;
    // Without LFS macros the call takes the offset as it is on 64-bit systems.
    return reinterpret_cast<void*>(
        syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
    ++count;
    return reinterpret_cast<void*>(
        syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}  // extern "C"

#endif

namespace hokku::testing {

uint64_t num_allocations() {
    return count;
}

void refuse_allocation(uint64_t n) {
    num_until_refusal = n;
}

bool can_count_allocations() {
#ifdef HOKKU_COUNTS_ALLOCATIONS
    return true;
#else
    return false;
#endif
}

}  // namespace hokku::testing
