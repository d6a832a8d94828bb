// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <string>

#include "base/executable_path.h"

namespace hokku {

std::optional<std::filesystem::path> executable_path() {
    constexpr size_t kLongestPath = 32768;
    std::wstring path(kLongestPath, L'\0');
    const DWORD length = GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
    if (length == 0 || length == path.size()) return std::nullopt;
    path.resize(length);
    return std::filesystem::path(path);
}

}  // namespace hokku
