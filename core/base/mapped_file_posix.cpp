// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "base/aligned_pages_posix.h"
#include "base/mapped_file.h"
#include "base/page_hints.h"
#include "base/path_text.h"
#include "base/zeroed_pages.h"

namespace hokku {

namespace {

std::string system_message(int error_number) {
    return std::system_category().message(error_number);
}

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "this is a folder, not a file";
    if (S_ISFIFO(mode)) return "this is a named pipe, not a regular file";
    if (S_ISSOCK(mode)) return "this is a socket, not a regular file";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "this is a device, not a regular file";
    return "this is not a regular file";
}

Error io_error(std::string what, const std::filesystem::path& path, std::string expected = {}) {
    return Error{ErrorCode::io, std::move(what), path_text(path), std::move(expected)};
}

Error open_error(const std::filesystem::path& path, int error_number) {
    struct stat link = {};
    if (error_number == ENOENT && lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
        return io_error("the link points to a file that does not exist", path);
    if (error_number == ENOENT) return io_error("there is no such file", path);
    return io_error("the file cannot be opened: " + system_message(error_number), path);
}

Result<void> check_regular(const std::filesystem::path& path, const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return io_error(kind_of(status.st_mode), path, "a regular file");
    if (status.st_size <= 0) return io_error("the file is empty", path);
    return {};
}

/// Closes a file descriptor unless it was released.
struct FileHandle {
    int number = -1;
    FileHandle() = default;
    FileHandle(const FileHandle&) = delete;
    FileHandle& operator=(const FileHandle&) = delete;
    ~FileHandle() {
        if (number >= 0) close(number);
    }
    int release() { return std::exchange(number, -1); }
};

/// At a multiple of a huge page, which not every file system sees to.
void* map_file(int file, size_t size) {
    // Private, because some FUSE mounts refuse shared mappings; the pages are shared anyway.
    constexpr int kFlags = MAP_PRIVATE;
    void* anywhere = mmap(nullptr, size, PROT_READ, kFlags, file, 0);
    if (anywhere == MAP_FAILED || size < kHugePageBytes ||
        reinterpret_cast<uintptr_t>(anywhere) % kHugePageBytes == 0)
        return anywhere;
    std::byte* place = map_aligned_pages(size, PROT_NONE);
    if (!place) return anywhere;
    void* aligned = mmap(place, size, PROT_READ, kFlags | MAP_FIXED, file, 0);
    // Refused, the place may be another thread's by now: it is not given back.
    if (aligned == MAP_FAILED) return anywhere;
    munmap(anywhere, size);
    return aligned;
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path,
                                                     bool use_mapping) {
    // Looked at before it is opened: opening a device or a pipe can have effects or wait.
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return open_error(path, errno);
    if (auto regular = check_regular(path, status); !regular.ok()) return regular.error();

    FileHandle file;
    file.number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file.number < 0) return open_error(path, errno);
    if (fstat(file.number, &status) != 0) return open_error(path, errno);
    if (auto regular = check_regular(path, status); !regular.ok()) return regular.error();
    const auto num_bytes = static_cast<uint64_t>(status.st_size);
    if (num_bytes > std::numeric_limits<size_t>::max() / 2)
        return io_error("the file is too large for the address space", path);
    const auto size = static_cast<size_t>(num_bytes);

    std::unique_ptr<MappedFile> opened(new MappedFile());
    opened->path_ = path;
    if (use_mapping) {
        void* memory = map_file(file.number, size);
        if (memory != MAP_FAILED) {
            opened->bytes_ = {static_cast<const std::byte*>(memory), size};
            prefer_huge_pages(opened->bytes_);
            opened->guard_ = ReadFaultGuard::watch(opened->bytes_);
            opened->is_mapped_ = opened->guard_.has_value();
            if (opened->is_mapped_) return opened;
            munmap(memory, size);
            opened->bytes_ = {};
        }
    }
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return Error{ErrorCode::out_of_memory, "there is not enough memory to read the file",
                     path_text(path), std::to_string(size) + " bytes"};
    opened->bytes_ = {static_cast<const std::byte*>(memory), size};
    opened->file_ = file.release();
    return opened;
}

MappedFile::~MappedFile() {
    guard_.reset();
    if (is_foreign_) return;
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    close_file();
}

bool MappedFile::read_range(size_t begin, size_t end) {
    std::byte* memory = const_cast<std::byte*>(bytes_.data());
    while (begin < end) {
        const size_t wanted = std::min(end - begin, size_t{1} << 30);
        const ssize_t got =
            pread(static_cast<int>(file_), memory + begin, wanted, static_cast<off_t>(begin));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        begin += static_cast<size_t>(got);
    }
    return true;
}

void MappedFile::protect_bytes() {
    mprotect(const_cast<std::byte*>(bytes_.data()), bytes_.size(), PROT_READ);
}

void MappedFile::close_file() {
    if (file_ != kNoFile) close(static_cast<int>(std::exchange(file_, kNoFile)));
}

}  // namespace hokku
