// SPDX-License-Identifier: Apache-2.0
// Whether there is a session bus (D-Bus) to speak to without leaving this machine.
#pragma once

namespace hokku::desktop {

/// The session bus, if it is a socket of this machine; it is never started for this.
bool hasLocalBus();

}  // namespace hokku::desktop
