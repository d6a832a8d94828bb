// SPDX-License-Identifier: Apache-2.0
#include "application/single_instance.h"

#include <QCryptographicHash>
#include <QDataStream>
#include <QLocalSocket>

namespace hokku::desktop {
namespace {

constexpr int kPatienceMs = 500;
constexpr qint64 kMostBytes = 1 << 20;

}  // namespace

SingleInstance::SingleInstance(const QString& dataFolder, QObject* parent) : QObject(parent) {
    const QByteArray hash =
        QCryptographicHash::hash(dataFolder.toUtf8(), QCryptographicHash::Sha256).toHex().left(16);
    m_name =
        QStringLiteral("hokku-%1-%2").arg(qEnvironmentVariable("USER"), QString::fromLatin1(hash));
    m_server.setSocketOptions(QLocalServer::UserAccessOption);
    connect(&m_server, &QLocalServer::newConnection, this, &SingleInstance::receive);
}

bool SingleInstance::handOver(const QStringList& files) {
    QLocalSocket socket;
    socket.connectToServer(m_name);
    if (!socket.waitForConnected(kPatienceMs)) return false;
    QByteArray message;
    QDataStream stream(&message, QIODevice::WriteOnly);
    stream << files;
    socket.write(message);
    return socket.waitForBytesWritten(kPatienceMs) && socket.waitForDisconnected(kPatienceMs);
}

void SingleInstance::listen() {
    if (m_server.listen(m_name)) return;
    // What a crashed instance left behind.
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
