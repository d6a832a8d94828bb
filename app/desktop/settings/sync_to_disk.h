// SPDX-License-Identifier: Apache-2.0
// Files that must be on the disk before anything relies on them.
#pragma once

class QFile;

namespace hokku::desktop {

/// Writes what is buffered and, where the system can be asked, waits until the disk has it.
bool syncToDisk(QFile& file);

}  // namespace hokku::desktop
