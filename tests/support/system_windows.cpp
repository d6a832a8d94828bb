// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <shellapi.h>
#include <stdlib.h>

#include <cstdio>
#include <new>

#include "base/windows_text.h"
#include "support/catch.h"
#include "support/system.h"

namespace hokku::testing {

std::vector<std::string> utf8_arguments(int /*argc*/, char** /*argv*/) {
    // As bytes: no carriage returns in what is printed.
    for (std::FILE* file : {stdout, stderr}) _setmode(_fileno(file), _O_BINARY);
    std::vector<std::string> arguments;
    int count = 0;
    wchar_t** wide = CommandLineToArgvW(GetCommandLineW(), &count);
    for (int i = 0; i < count; ++i) arguments.push_back(utf8_from_utf16(wide[i]));
    LocalFree(wide);
    return arguments;
}

void set_environment(const std::string& name, const std::string& value) {
    // An empty value would remove it.
    REQUIRE(_wputenv_s(utf16_from_utf8(name).c_str(), utf16_from_utf8(value).c_str()) == 0);
}

void unset_environment(const std::string& name) {
    _wputenv_s(utf16_from_utf8(name).c_str(), L"");
}

GuardedMemory::GuardedMemory(size_t bytes) {
    constexpr size_t kPage = 4096;
    const size_t readable = (bytes + kPage - 1) / kPage * kPage;
    mapping_bytes_ = readable + kPage;
    mapping_ = VirtualAlloc(nullptr, mapping_bytes_, MEM_RESERVE, PAGE_NOACCESS);
    if (mapping_ == nullptr ||
        VirtualAlloc(mapping_, readable, MEM_COMMIT, PAGE_READWRITE) == nullptr)
        throw std::bad_alloc();  // Benchmarks have no REQUIRE.
    data_ = static_cast<std::byte*>(mapping_) + readable - bytes;
}

GuardedMemory::~GuardedMemory() {
    VirtualFree(mapping_, 0, MEM_RELEASE);
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
