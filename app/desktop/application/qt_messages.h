// SPDX-License-Identifier: Apache-2.0
// What Qt says on stderr, without what is no trouble.
#pragma once

namespace hokku::desktop {

/// Drops one sentence: that XDG_RUNTIME_DIR is not set (by su, ssh, a container), where Qt makes a
/// folder of its own and all works. Everything else comes as it is.
/// Needs  : called before the QApplication is made.
void dropQtNoise();

}  // namespace hokku::desktop
