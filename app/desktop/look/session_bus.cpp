// SPDX-License-Identifier: Apache-2.0
#include "look/session_bus.h"

#include <QFile>
#include <QString>

namespace hokku::desktop {

bool hasLocalBus() {
    const QByteArray address = qgetenv("DBUS_SESSION_BUS_ADDRESS");
    if (!address.isEmpty()) return address.startsWith("unix:");
    return QFile::exists(qEnvironmentVariable("XDG_RUNTIME_DIR") + QStringLiteral("/bus"));
}

}  // namespace hokku::desktop
