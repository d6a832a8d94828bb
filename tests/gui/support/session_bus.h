// SPDX-License-Identifier: Apache-2.0
// A session bus (D-Bus) of a test's own, for services made for it.
#pragma once

#include <QProcess>
#include <QStandardPaths>
#include <QString>

#include "support/golden.h"

namespace hokku::testing {

/// Says where there is none.
inline bool has_bus_daemon() {
    const bool is_there = !QStandardPaths::findExecutable(QStringLiteral("dbus-daemon")).isEmpty();
    if (!is_there) report_skip("there is no dbus-daemon");
    return is_there;
}

/// A program has one connection to its session bus: make this once, before that.
class SessionBus {
  public:
    SessionBus() {
        constexpr int kBusPatienceMs = 10'000;
        m_daemon.start(QStringLiteral("dbus-daemon"),
                       {QStringLiteral("--session"), QStringLiteral("--nofork"),
                        QStringLiteral("--nopidfile"), QStringLiteral("--print-address")});
        if (!m_daemon.waitForStarted(kBusPatienceMs) || !m_daemon.waitForReadyRead(kBusPatienceMs))
            return;
        m_address = m_daemon.readLine().trimmed();
        qputenv("DBUS_SESSION_BUS_ADDRESS", m_address);
    }
    ~SessionBus() {
        m_daemon.terminate();
        m_daemon.waitForFinished();
    }
    /// Empty where the bus did not start.
    [[nodiscard]] QString address() const { return QString::fromLatin1(m_address); }

  private:
    QProcess m_daemon;
    QByteArray m_address;
};

}  // namespace hokku::testing
