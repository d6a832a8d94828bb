// SPDX-License-Identifier: Apache-2.0
#include "hokku/file_lock.h"

#include <windows.h>

#include <string>
#include <system_error>

#include "base/path_text.h"

namespace hokku {

Result<std::optional<FileLock>> FileLock::take(const std::filesystem::path& path) {
    // Shared with nobody, and gone with its handle.
    const HANDLE file =
        CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr, OPEN_ALWAYS,
                    FILE_ATTRIBUTE_NORMAL | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    if (file != INVALID_HANDLE_VALUE)
        return std::optional(FileLock(path, reinterpret_cast<intptr_t>(file)));
    const DWORD reason = GetLastError();
    // While the last one's file goes away, access to it is denied.
    if (reason == ERROR_SHARING_VIOLATION || reason == ERROR_DELETE_PENDING)
        return std::optional<FileLock>();
    return Error{
        ErrorCode::io,
        "the lock cannot be taken: " + std::system_category().message(static_cast<int>(reason)),
        path_text(path), "a file that can be made, written and locked"};
}

FileLock::~FileLock() {
    if (file_ != kNoFile) CloseHandle(reinterpret_cast<HANDLE>(file_));  // NOLINT: as defined there
}

}  // namespace hokku
