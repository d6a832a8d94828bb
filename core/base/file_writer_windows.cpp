// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/file_writer.h"
#include "base/path_text.h"
#include "base/windows_text.h"

namespace hokku {

namespace {

Error io_error(std::string what, const std::filesystem::path& path, DWORD error_code) {
    if (error_code != 0) what += ": " + windows_message(error_code);
    return {ErrorCode::io, std::move(what), path_text(path), ""};
}

HANDLE handle_of(intptr_t file) {
    return reinterpret_cast<HANDLE>(file);  // NOLINT: as the system defines it
}

bool is_regular(HANDLE file) {
    BY_HANDLE_FILE_INFORMATION about = {};
    return GetFileType(file) == FILE_TYPE_DISK && GetFileInformationByHandle(file, &about) != 0 &&
           (about.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) ==
               0;
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::filesystem::path& path) {
    const std::filesystem::path part = part_of(path);
    // Others may read, rename and delete it, as elsewhere: whoever else wants to write is refused.
    const HANDLE file = CreateFileW(part.c_str(), GENERIC_READ | GENERIC_WRITE,
                                    FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_ALWAYS,
                                    FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
    if (file == INVALID_HANDLE_VALUE) {
        const DWORD reason = GetLastError();
        if (reason == ERROR_SHARING_VIOLATION)
            return io_error("another process is writing this file", part, 0);
        return io_error("the file cannot be written", part, reason);
    }
    FileWriter writer(path, reinterpret_cast<intptr_t>(file));
    if (!is_regular(file)) {
        CloseHandle(handle_of(std::exchange(writer.file_, kNoFile)));
        return io_error("this is not a regular file", part, 0);
    }
    if (SetEndOfFile(file) == 0)
        return io_error("the file cannot be written", part, GetLastError());
    return writer;
}

void FileWriter::discard() {
    if (file_ == kNoFile) return;
    DeleteFileW(part_.c_str());  // It goes when its handle is closed.
    CloseHandle(handle_of(std::exchange(file_, kNoFile)));
}

Result<void> FileWriter::write_at(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto wanted = static_cast<DWORD>(std::min(bytes.size(), size_t{1} << 30));
        OVERLAPPED at = {};
        at.Offset = static_cast<DWORD>(offset & 0xFFFF'FFFF);
        at.OffsetHigh = static_cast<DWORD>(offset >> 32);
        DWORD done = 0;
        if (WriteFile(handle_of(file_), bytes.data(), wanted, &done, &at) == 0 || done == 0)
            return io_error("the file cannot be written", path_, GetLastError());
        bytes = bytes.subspan(done);
        offset += done;
    }
    return {};
}

Result<void> FileWriter::commit() {
    if (FlushFileBuffers(handle_of(file_)) == 0)
        return io_error("the file cannot be written", path_, GetLastError());
    // Still open, so that nobody else writes it before it has its name.
    if (MoveFileExW(part_.c_str(), path_.c_str(),
                    MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) == 0)
        return io_error("the file cannot be put in its place", path_, GetLastError());
    CloseHandle(handle_of(std::exchange(file_, kNoFile)));
    return {};
}

}  // namespace hokku
