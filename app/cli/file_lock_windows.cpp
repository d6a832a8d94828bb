// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include "file_lock.h"

namespace hokku::cli {

std::optional<FileLock> FileLock::take(const std::filesystem::path& path) {
    // Shared with nobody, and gone with its handle.
    const HANDLE file =
        CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr, OPEN_ALWAYS,
                    FILE_ATTRIBUTE_NORMAL | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    if (file != INVALID_HANDLE_VALUE) return FileLock(path, reinterpret_cast<intptr_t>(file));
    const DWORD reason = GetLastError();
    // While the last one's file goes away, access to it is denied.
    if (reason == ERROR_SHARING_VIOLATION || reason == ERROR_DELETE_PENDING) return std::nullopt;
    return FileLock(path, kNoFile);
}

FileLock::~FileLock() {
    if (file_ != kNoFile) CloseHandle(reinterpret_cast<HANDLE>(file_));  // NOLINT: as defined there
}

}  // namespace hokku::cli
