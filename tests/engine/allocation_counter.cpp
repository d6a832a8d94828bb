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

}  // namespace

#ifdef HOKKU_COUNTS_ALLOCATIONS

// glibc's own functions under their second names.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
    ++count;
    return __libc_malloc(bytes);
}
void* calloc(size_t num, size_t bytes) {
    ++count;
    return __libc_calloc(num, bytes);
}
void* realloc(void* old, size_t bytes) {
    ++count;
    return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
    ++count;
    return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
    ++count;
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
    ++count;
    *out = __libc_memalign(alignment, bytes);
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

bool can_count_allocations() {
#ifdef HOKKU_COUNTS_ALLOCATIONS
    return true;
#else
    return false;
#endif
}

}  // namespace hokku::testing
