// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include "base/path_text.h"
#include "base/shared_library.h"

namespace hokku {

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& path) {
    SharedLibrary library;
    library.handle_ = static_cast<void*>(
        LoadLibraryExW(path.c_str(), nullptr,
                       LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS));
    if (library.handle_ != nullptr) return library;
    return Error{ErrorCode::unsupported, "the library cannot be opened",
                 path_text(path) + ", system error " + std::to_string(GetLastError()), ""};
}

void* SharedLibrary::find(const char* name) const {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

std::string SharedLibrary::file_name(const std::string& stem) {
    return stem + ".dll";
}

}  // namespace hokku
