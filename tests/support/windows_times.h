// SPDX-License-Identifier: Apache-2.0
// Processor time of a process on Windows.
#pragma once

#include <windows.h>

namespace hokku::testing {

/// Of all its threads, in the system and outside.
inline double processor_seconds(HANDLE process) {
    FILETIME created, ended, kernel = {}, user = {};
    GetProcessTimes(process, &created, &ended, &kernel, &user);
    const auto seconds = [](const FILETIME& time) {  // in steps of 100 ns
        return 429.4967296 * time.dwHighDateTime + 1e-7 * time.dwLowDateTime;
    };
    return seconds(kernel) + seconds(user);
}

}  // namespace hokku::testing
