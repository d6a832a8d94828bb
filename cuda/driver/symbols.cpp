// SPDX-License-Identifier: Apache-2.0
#include "driver/symbols.h"

#include <utility>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace hokku::cuda {

namespace {

class Library : public SymbolSource {
  public:
    Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
    [[nodiscard]] void* find(const char* name) const override {
#if defined(_WIN32)
        return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
#else
        return dlsym(handle_, name);
#endif
    }
    [[nodiscard]] std::string name() const override {
        return name_;
    }

  private:
    void* handle_;
    std::string name_;
};

/// Null and a reason where it cannot be opened.
void* open(const char* name, std::string& reason) {
#if defined(_WIN32)
    HMODULE library = LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (library == nullptr) {
        reason = std::string(name) + ": system error " + std::to_string(GetLastError());
    }
    return static_cast<void*>(library);
#else
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* text = dlerror();
        reason = text != nullptr ? text : name;
    }
    return library;
#endif
}

}  // namespace

Result<std::unique_ptr<SymbolSource>> open_library(std::span<const char* const> names) {
    std::string reasons;
    for (const char* name : names) {
        std::string reason;
        if (void* library = open(name, reason)) {
            return std::unique_ptr<SymbolSource>(std::make_unique<Library>(library, name));
        }
        reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    return Error{ErrorCode::unsupported, "a library cannot be opened", reasons, ""};
}

std::span<const char* const> driver_library_names() {
#if defined(_WIN32)
    static constexpr const char* kNames[] = {"nvcuda.dll"};
#else
    static constexpr const char* kNames[] = {"libcuda.so.1", "libcuda.so"};
#endif
    return kNames;
}

}  // namespace hokku::cuda
