// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/mapped_file.h"
#include "base/path_text.h"
#include "base/windows_text.h"

namespace hokku {

namespace {

Error io_error(std::string what, const std::filesystem::path& path, std::string expected = {}) {
    return Error{ErrorCode::io, std::move(what), path_text(path), std::move(expected)};
}

Error open_error(const std::filesystem::path& path, DWORD error_code) {
    if (error_code == ERROR_FILE_NOT_FOUND || error_code == ERROR_PATH_NOT_FOUND) {
        const DWORD attributes = GetFileAttributesW(path.c_str());  // Of a link itself.
        if (attributes != INVALID_FILE_ATTRIBUTES &&
            (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
            return io_error("the link points to a file that does not exist", path);
        return io_error("there is no such file", path);
    }
    return io_error("the file cannot be opened: " + windows_message(error_code), path);
}

/// Closes a handle unless it was released.
struct Handle {
    HANDLE handle = INVALID_HANDLE_VALUE;
    explicit Handle(HANDLE opened) : handle(opened) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
        if (handle != INVALID_HANDLE_VALUE && handle != nullptr) CloseHandle(handle);
    }
    HANDLE release() { return std::exchange(handle, INVALID_HANDLE_VALUE); }
};

/// \\.\NAME, \\?\NAME but for drives and shares, \\HOST\pipe\NAME; with slashes of either kind.
bool is_device_or_pipe(std::wstring name) {
    std::replace(name.begin(), name.end(), L'/', L'\\');
    if (!name.starts_with(L"\\\\")) return false;
    if (name.starts_with(L"\\\\.\\")) return true;
    size_t host = 2;
    if (name.starts_with(L"\\\\?\\")) {
        if (name.substr(5, 2) == L":\\") return false;
        if (!name.starts_with(L"\\\\?\\UNC\\")) return true;
        host = 8;
    }
    const size_t share = name.find(L'\\', host);
    return share != name.npos && name.substr(share, 6) == L"\\pipe\\";
}

/// What must not even be opened, as that can have effects or wait.
Result<void> check_place(const std::filesystem::path& path) {
    if (is_device_or_pipe(path.native()))
        return io_error("this is a device, not a regular file", path, "a regular file");
    const DWORD attributes = GetFileAttributesW(path.c_str());
    if (attributes == INVALID_FILE_ATTRIBUTES) return open_error(path, GetLastError());
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
        return io_error("this is a folder, not a file", path, "a regular file");
    return {};
}

Result<size_t> size_of_regular(const std::filesystem::path& path, HANDLE file) {
    const DWORD kind = GetFileType(file);
    if (kind == FILE_TYPE_PIPE)
        return io_error("this is a named pipe, not a regular file", path, "a regular file");
    if (kind != FILE_TYPE_DISK)
        return io_error("this is a device, not a regular file", path, "a regular file");
    LARGE_INTEGER size = {};
    if (GetFileSizeEx(file, &size) == 0) return open_error(path, GetLastError());
    if (size.QuadPart <= 0) return io_error("the file is empty", path);
    const auto num_bytes = static_cast<uint64_t>(size.QuadPart);
    if (num_bytes > std::numeric_limits<size_t>::max() / 2)
        return io_error("the file is too large for the address space", path);
    return static_cast<size_t>(num_bytes);
}

/// Null when the system cannot map this file. The view keeps the file open.
void* map_view(HANDLE file) {
    const Handle mapping(CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr));
    if (mapping.handle == nullptr) return nullptr;
    return MapViewOfFile(mapping.handle, FILE_MAP_READ, 0, 0, 0);
}

HANDLE mapping_file(intptr_t file) {
    return reinterpret_cast<HANDLE>(file);  // NOLINT: as the system defines it
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path,
                                                     bool use_mapping) {
    if (auto place = check_place(path); !place.ok()) return place.error();
    // Others may write and rename, as elsewhere; Windows itself refuses to shorten a mapped file.
    Handle file(CreateFileW(path.c_str(), GENERIC_READ,
                            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                            OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
    if (file.handle == INVALID_HANDLE_VALUE) return open_error(path, GetLastError());
    const Result<size_t> size = size_of_regular(path, file.handle);
    if (!size.ok()) return size.error();

    std::unique_ptr<MappedFile> opened(new MappedFile());
    opened->path_ = path;
    if (use_mapping) {
        if (void* memory = map_view(file.handle)) {
            opened->bytes_ = {static_cast<const std::byte*>(memory), *size};
            opened->guard_ = ReadFaultGuard::watch(opened->bytes_);
            opened->is_mapped_ = opened->guard_.has_value();
            if (opened->is_mapped_) return opened;
            UnmapViewOfFile(memory);
            opened->bytes_ = {};
        }
    }
    // Only address space: read_range takes memory for what it reads.
    void* memory = VirtualAlloc(nullptr, *size, MEM_RESERVE, PAGE_READWRITE);
    if (memory == nullptr)
        return Error{ErrorCode::out_of_memory, "there is not enough memory to read the file",
                     path_text(path), std::to_string(*size) + " bytes"};
    opened->bytes_ = {static_cast<const std::byte*>(memory), *size};
    opened->file_ = reinterpret_cast<intptr_t>(file.release());
    return opened;
}

MappedFile::~MappedFile() {
    if (is_foreign_) return;
    void* memory = const_cast<std::byte*>(bytes_.data());
    // After a fault the view is gone and memory of our own stands in its place.
    const bool is_view = is_mapped_ && !has_read_fault();
    guard_.reset();
    if (is_view) {
        UnmapViewOfFile(memory);
    } else if (memory != nullptr) {
        VirtualFree(memory, 0, MEM_RELEASE);
    }
    close_file();
}

bool MappedFile::read_range(size_t begin, size_t end) {
    std::byte* memory = const_cast<std::byte*>(bytes_.data());
    if (begin < end &&
        VirtualAlloc(memory + begin, end - begin, MEM_COMMIT, PAGE_READWRITE) == nullptr)
        return false;
    while (begin < end) {
        const auto wanted = static_cast<DWORD>(std::min(end - begin, size_t{1} << 30));
        OVERLAPPED at = {};
        at.Offset = static_cast<DWORD>(begin & 0xFFFF'FFFF);
        at.OffsetHigh = static_cast<DWORD>(begin >> 32);
        DWORD got = 0;
        if (ReadFile(mapping_file(file_), memory + begin, wanted, &got, &at) == 0 || got == 0)
            return false;
        begin += got;
    }
    return true;
}

void MappedFile::protect_bytes() {
    DWORD previous = 0;
    VirtualProtect(const_cast<std::byte*>(bytes_.data()), bytes_.size(), PAGE_READONLY, &previous);
}

void MappedFile::close_file() {
    if (file_ != kNoFile) CloseHandle(mapping_file(std::exchange(file_, kNoFile)));
}

}  // namespace hokku
