// SPDX-License-Identifier: Apache-2.0
// A session bus (D-Bus) of a test's own, for services made for it.
#pragma once

#include <QProcess>
#include <QStandardPaths>
#include <QString>

#include <csignal>

#include <sys/prctl.h>

#include "support/golden.h"

namespace hokku::testing {

/// Says where there is none.
inline bool has_bus_daemon() {
    const bool is_there = !QStandardPaths::findExecutable(QStringLiteral("dbus-daemon")).isEmpty();
    if (!is_there) report_skip("there is no dbus-daemon");
    return is_there;
}

/// A program has one connection to its session bus: this is made once, before that, and ends with
/// the program.
class SessionBus {
  public:
    static const SessionBus& instance() {
        // Never destroyed: after main() no process can be waited for.
        static const auto* bus = new SessionBus;
        return *bus;
    }
    /// Empty where the bus did not start.
    [[nodiscard]] QString address() const { return QString::fromLatin1(m_address); }

  private:
    SessionBus() {
        m_daemon.setChildProcessModifier([] { prctl(PR_SET_PDEATHSIG, SIGKILL); });
        constexpr int kBusPatienceMs = 10'000;
        m_daemon.start(QStringLiteral("dbus-daemon"),
                       {QStringLiteral("--session"), QStringLiteral("--nofork"),
                        QStringLiteral("--nopidfile"), QStringLiteral("--print-address")});
        if (!m_daemon.waitForStarted(kBusPatienceMs) || !m_daemon.waitForReadyRead(kBusPatienceMs))
            return;
        m_address = m_daemon.readLine().trimmed();
        qputenv("DBUS_SESSION_BUS_ADDRESS", m_address);
    }

    QProcess m_daemon;
    QByteArray m_address;
};

}  // namespace hokku::testing
