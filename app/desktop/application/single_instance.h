// SPDX-License-Identifier: Apache-2.0
// SingleInstance: a second start hands its files to the first window and ends.
#pragma once

#include <QLocalServer>
#include <QLockFile>
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

    enum class Answer {
        none,    ///< There is no other: this is the first.
        taken,   ///< Another one has the files, even if it is too busy to open them at once.
        silence  ///< There is another one that does not listen.
    };
    /// Looks for another instance and gives it the files; this one should end unless it is the
    /// first.
    Answer handOver(const QStringList& files);
    /// Listens for later starts.
    void listen();

  signals:
    /// Another start, with the files it was given (none: just show the window).
    void opened(const QStringList& files);

  private:
    void receive();

    QString m_name;
    QLockFile m_lock;  ///< Held by the first; given back by the system when that ends.
    QLocalServer m_server;
};

}  // namespace hokku::desktop
