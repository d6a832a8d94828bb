// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "support/catch.h"
#include "support/system.h"

namespace hokku::testing {

std::vector<std::string> utf8_arguments(int argc, char** argv) {
    return {argv, argv + argc};
}

void set_environment(const std::string& name, const std::string& value) {
    REQUIRE(setenv(name.c_str(), value.c_str(), 1) == 0);
}

void unset_environment(const std::string& name) {
    unsetenv(name.c_str());
}

GuardedMemory::GuardedMemory(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t readable = (bytes + page - 1) / page * page;
    mapping_bytes_ = readable + page;
    mapping_ =
        mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();  // Benchmarks have no REQUIRE.
    data_ = static_cast<std::byte*>(mapping_) + readable - bytes;
    mprotect(static_cast<std::byte*>(mapping_) + readable, page, PROT_NONE);
}

GuardedMemory::~GuardedMemory() {
    munmap(mapping_, mapping_bytes_);
}

void run_on_small_stack(size_t stack_bytes, const std::function<void()>& work) {
    pthread_attr_t attributes;
    pthread_t thread{};
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
    const auto call = [](void* argument) -> void* {
        (*static_cast<const std::function<void()>*>(argument))();
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&work)) ==
            0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

}  // namespace hokku::testing
