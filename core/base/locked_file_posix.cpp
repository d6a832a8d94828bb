// SPDX-License-Identifier: Apache-2.0
#include "base/locked_file_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace hokku {

LockedFile open_locked_file(const char* path, int flags) {
    while (true) {
        const int file = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0) return {.error_number = errno};
        if (flock(file, LOCK_EX | LOCK_NB) != 0) {
            const int error_number = errno;
            close(file);
            if (error_number == EWOULDBLOCK) return {.is_held_elsewhere = true};
            return {.error_number = error_number};
        }
        struct stat opened = {}, named = {};
        const bool is_there = fstat(file, &opened) == 0 && stat(path, &named) == 0 &&
                              opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
        if (is_there) return {.file = file};
        close(file);
    }
}

std::string reason_text(int error_number) {
    return std::system_category().message(error_number);
}

}  // namespace hokku
