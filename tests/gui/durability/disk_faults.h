// SPDX-License-Identifier: Apache-2.0
// Makes calls to the file system fail, for files in one folder of the test's own process: SQLite
// and Qt call these functions of the C library, and a program that has functions of their names is
// asked first.
#pragma once

#include <string>

namespace hokku::testing {

struct DiskFaults {
    std::string folder;       ///< Only what lies in here.
    int first = 0;            ///< The call that fails first, counted from 1; 0: none.
    bool isOnce = false;      ///< Only that one.
    bool isReadOnly = false;  ///< Nothing can be opened for writing, made, renamed or removed.
    int error = 0;            ///< errno.
};

/// From now on; counts from 1 again.
void setDiskFaults(const DiskFaults& faults);
void clearDiskFaults();
/// Of the calls that change something, since setDiskFaults().
int numDiskCalls();

}  // namespace hokku::testing
