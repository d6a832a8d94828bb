// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "base/path_text.h"
#include "base/shared_library.h"

namespace hokku {

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& path) {
    SharedLibrary library;
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) return library;
    const char* reason = dlerror();
    return Error{ErrorCode::unsupported, "the library cannot be opened",
                 reason != nullptr ? reason : path_text(path), ""};
}

void* SharedLibrary::find(const char* name) const {
    return dlsym(handle_, name);
}

std::string SharedLibrary::file_name(const std::string& stem) {
    return "lib" + stem + ".so";
}

}  // namespace hokku
