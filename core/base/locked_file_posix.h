// SPDX-License-Identifier: Apache-2.0
// A file that is opened and locked for this process alone, for locks and for files that are written
// beside the one they will replace.
#pragma once

#include <string>

namespace hokku {

struct LockedFile {
    int file = -1;                   ///< Its descriptor, which holds the lock; -1: none.
    bool is_held_elsewhere = false;  ///< By another process.
    int error_number = 0;            ///< Else, where there is none.
};

/// The file of that name, made where there is none, readable by its owner alone. Whoever holds the
/// lock may remove or rename the file: then the lock that was got is that of a file without this
/// name, and the next one is tried. Links are not followed.
LockedFile open_locked_file(const char* path, int flags);

/// What the system says of an error number.
std::string reason_text(int error_number);

}  // namespace hokku
