// SPDX-License-Identifier: Apache-2.0
// Sizes of files and of memory, as all of the app shows them.
#pragma once

#include <QString>

namespace hokku::desktop {

/// In units of a thousand (1 MB is 1,000,000 bytes), as disks, download pages and the command line
/// count; number and unit stay on one line.
QString sizeText(quint64 bytes);

}  // namespace hokku::desktop
