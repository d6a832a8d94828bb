// SPDX-License-Identifier: Apache-2.0
#include "hokku/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/locked_file_posix.h"
#include "base/path_text.h"

namespace hokku {

// Whoever gives the lock back removes the file.
Result<std::optional<FileLock>> FileLock::take(const std::filesystem::path& path) {
    const LockedFile opened = open_locked_file(path.c_str(), O_RDWR);
    if (opened.is_held_elsewhere) return std::optional<FileLock>();
    if (opened.file < 0)
        return Error{ErrorCode::io, "the lock cannot be taken: " + reason_text(opened.error_number),
                     path_text(path), "a file that can be made, written and locked"};
    return std::optional(FileLock(path, opened.file));
}

FileLock::~FileLock() {
    if (file_ == kNoFile) return;
    unlink(path_.c_str());
    close(static_cast<int>(file_));
}

}  // namespace hokku
