// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "file_lock.h"
#include "hokku/paths.h"

namespace hokku::cli {

namespace {

Error cannot_lock(const std::filesystem::path& path) {
    const int reason = errno;
    return {ErrorCode::io, std::string("the lock cannot be taken: ") + std::strerror(reason),
            path_utf8(path), "a file that can be made, written and locked"};
}

}  // namespace

// Whoever gives the lock back removes the file: then the lock that was waited for is that of a file
// without a name, and another one is made.
Result<std::optional<FileLock>> FileLock::take(const std::filesystem::path& path) {
    while (true) {
        const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0) return cannot_lock(path);
        if (flock(file, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) {
                Error error = cannot_lock(path);
                close(file);
                return error;
            }
            close(file);
            return std::optional<FileLock>();
        }
        struct stat opened = {}, named = {};
        const bool is_there = fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
                              opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
        if (is_there) return std::optional(FileLock(path, file));
        close(file);
    }
}

FileLock::~FileLock() {
    if (file_ == kNoFile) return;
    unlink(path_.c_str());
    close(static_cast<int>(file_));
}

}  // namespace hokku::cli
