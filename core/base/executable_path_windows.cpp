// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <string>

#include "base/executable_path.h"

namespace hokku {

std::optional<std::filesystem::path> executable_path() {
    constexpr DWORD kLongestPath = 32768;
    std::wstring path(kLongestPath, L'\0');
    const DWORD length = GetModuleFileNameW(nullptr, path.data(), kLongestPath);
    if (length == 0 || length == kLongestPath) return std::nullopt;
    path.resize(length);
    return path;
}

}  // namespace hokku
