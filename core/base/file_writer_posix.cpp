// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/file_writer.h"
#include "base/locked_file_posix.h"
#include "base/path_text.h"

namespace hokku {

namespace {

Error io_error(std::string what, const std::filesystem::path& path, int error_number) {
    if (error_number != 0) what += ": " + reason_text(error_number);
    return {ErrorCode::io, std::move(what), path_text(path), ""};
}

/// Locked, so that of two writers one is refused.
Result<int> open_locked(const std::filesystem::path& part) {
    const LockedFile opened = open_locked_file(part.c_str(), O_RDWR | O_NONBLOCK);
    if (opened.is_held_elsewhere) return io_error("another process is writing this file", part, 0);
    if (opened.file < 0) return io_error("the file cannot be written", part, opened.error_number);
    struct stat found = {};
    const bool is_regular = fstat(opened.file, &found) == 0 && S_ISREG(found.st_mode);
    if (is_regular && ftruncate(opened.file, 0) == 0) return opened.file;
    const int error_number = errno;
    close(opened.file);
    if (!is_regular) return io_error("this is not a regular file", part, 0);
    return io_error("the file cannot be written", part, error_number);
}

int descriptor(intptr_t file) {
    return static_cast<int>(file);
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::filesystem::path& path) {
    auto file = open_locked(part_of(path));
    if (!file.ok()) return file.error();
    return FileWriter(path, *file);
}

void FileWriter::discard() {
    if (file_ == kNoFile) return;
    unlink(part_.c_str());
    close(descriptor(std::exchange(file_, kNoFile)));
}

Result<void> FileWriter::write_at(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const size_t wanted = std::min(bytes.size(), size_t{1} << 30);
        const ssize_t done =
            pwrite(descriptor(file_), bytes.data(), wanted, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return io_error("the file cannot be written", path_, done < 0 ? errno : ENOSPC);
        bytes = bytes.subspan(static_cast<size_t>(done));
        offset += static_cast<uint64_t>(done);
    }
    return {};
}

Result<void> FileWriter::commit() {
    if (fsync(descriptor(file_)) != 0) return io_error("the file cannot be written", path_, errno);
    if (rename(part_.c_str(), path_.c_str()) != 0)
        return io_error("the file cannot be put in its place", path_, errno);
    close(descriptor(std::exchange(file_, kNoFile)));
    // The new name is on the disk once its folder is. Not every system can tell, so no error.
    std::filesystem::path folder = path_.parent_path();
    if (folder.empty()) folder = ".";
    const int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return {};
    static_cast<void>(fsync(handle));
    close(handle);
    return {};
}

}  // namespace hokku
