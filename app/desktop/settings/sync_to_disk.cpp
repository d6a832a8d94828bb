// SPDX-License-Identifier: Apache-2.0
#include "settings/sync_to_disk.h"

#include <QFile>

#ifdef Q_OS_UNIX
#include <unistd.h>
#endif

namespace hokku::desktop {

bool syncToDisk(QFile& file) {
    if (!file.flush()) return false;
#ifdef Q_OS_UNIX
    return fsync(file.handle()) == 0;
#else
    return true;
#endif
}

}  // namespace hokku::desktop
