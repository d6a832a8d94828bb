// SPDX-License-Identifier: Apache-2.0
#include "application/single_instance.h"

#include <QCryptographicHash>
#include <QDataStream>
#include <QDir>
#include <QElapsedTimer>
#include <QLocalSocket>
#include <QThread>

namespace hokku::desktop {
namespace {

/// For an instance that has just started and does not listen yet.
constexpr int kPatienceMs = 5000, kPauseMs = 50;
constexpr qint64 kMostBytes = 1 << 20;

QString nameFor(const QString& dataFolder) {
    const QByteArray hash =
        QCryptographicHash::hash(dataFolder.toUtf8(), QCryptographicHash::Sha256).toHex().left(16);
    return QStringLiteral("hokku-%1-%2")
        .arg(qEnvironmentVariable("USER"), QString::fromLatin1(hash));
}

}  // namespace

SingleInstance::SingleInstance(const QString& dataFolder, QObject* parent)
    : QObject(parent),
      m_name(nameFor(dataFolder)),
      m_lock(QDir::temp().filePath(m_name + QStringLiteral(".lock"))) {
    m_lock.setStaleLockTime(0);  // only when its process is gone
    m_server.setSocketOptions(QLocalServer::UserAccessOption);
    connect(&m_server, &QLocalServer::newConnection, this, &SingleInstance::receive);
}

SingleInstance::Answer SingleInstance::handOver(const QStringList& files) {
    // Where no lock can be made, as on a full disk, only the socket tells.
    const bool isFirst = m_lock.isLocked() || m_lock.tryLock(0);
    const bool isKnown = isFirst || m_lock.error() == QLockFile::LockFailedError;
    if (isFirst) return Answer::none;
    QByteArray message;
    QDataStream stream(&message, QIODevice::WriteOnly);
    stream << files;
    QElapsedTimer clock;
    clock.start();
    do {
        QLocalSocket socket;
        socket.connectToServer(m_name);
        if (socket.waitForConnected(kPatienceMs)) {
            // What is written waits in the socket for as long as the other is busy.
            socket.write(message);
            while (socket.bytesToWrite() > 0 && socket.waitForBytesWritten(kPatienceMs)) {
            }
            return socket.bytesToWrite() == 0 ? Answer::taken : Answer::silence;
        }
        if (!isKnown) return Answer::none;
        QThread::msleep(kPauseMs);
    } while (clock.elapsed() < kPatienceMs);
    return Answer::silence;
}

void SingleInstance::listen() {
    if (m_server.listen(m_name)) return;
    // What a crashed instance left behind; it is gone, as this one has the lock.
    QLocalServer::removeServer(m_name);
    m_server.listen(m_name);
}

void SingleInstance::receive() {
    while (QLocalSocket* socket = m_server.nextPendingConnection()) {
        connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
        connect(socket, &QLocalSocket::readyRead, this, [this, socket] {
            if (socket->bytesAvailable() > kMostBytes) return socket->abort();
            QDataStream stream(socket);
            stream.startTransaction();
            QStringList files;
            stream >> files;
            if (!stream.commitTransaction()) return;
            socket->disconnectFromServer();
            emit opened(files);
        });
    }
}

}  // namespace hokku::desktop
