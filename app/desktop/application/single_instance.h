// SPDX-License-Identifier: Apache-2.0
// SingleInstance: a second start hands its files to the first window and ends.
#pragma once

#include <QLocalServer>
#include <QObject>
#include <QStringList>

namespace hokku::desktop {

/// One per data folder: programs with different folders may run side by side. Local sockets only.
///
/// Threads: the UI thread.
class SingleInstance : public QObject {
    Q_OBJECT

  public:
    explicit SingleInstance(const QString& dataFolder, QObject* parent = nullptr);

    /// Whether another instance took the files; this one should end then.
    bool handOver(const QStringList& files);
    /// Listens for later starts.
    void listen();

  signals:
    /// Another start, with the files it was given (none: just show the window).
    void opened(const QStringList& files);

  private:
    void receive();

    QString m_name;
    QLocalServer m_server;
};

}  // namespace hokku::desktop
