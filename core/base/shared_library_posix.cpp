// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <elf.h>

#include <fstream>
#include <vector>

#include "base/path_text.h"
#include "base/shared_library.h"

namespace hokku {

namespace {

template <class Value>
bool read_values(std::ifstream& file, uint64_t offset, Value* values, size_t count) {
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * sizeof(Value)));
    return file.good();
}

/// Whether the file holds all that it says is to be mapped. The system does not look: it maps, and
/// the first touch of what is missing ends the program.
bool is_complete(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe would wait
    const uint64_t size = std::filesystem::file_size(path, ignored);
    if (ignored) return false;
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr header = {};
    if (!read_values(file, 0, &header, 1) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    std::vector<Elf64_Phdr> parts(header.e_phnum);
    if (!read_values(file, header.e_phoff, parts.data(), parts.size())) return false;
    for (const Elf64_Phdr& part : parts)
        if (part.p_type == PT_LOAD &&
            (part.p_offset > size || part.p_filesz > size - part.p_offset))
            return false;
    return true;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& path) {
    SharedLibrary library;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !is_complete(path))
        return Error{ErrorCode::unsupported, "the library cannot be opened",
                     path_text(path) + ", which is no library or not all of one", ""};
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
