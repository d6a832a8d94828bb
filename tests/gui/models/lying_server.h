// SPDX-License-Identifier: Apache-2.0
// LyingServer: a local HTTP server for the tests of downloads, which may break off and lie.
#pragma once

#include <QTcpServer>
#include <QTcpSocket>
#include <QUrl>
#include <QVector>
#include <utility>

#include "gui/support/catch_qt.h"

namespace hokku::testing {

/// An HTTP server that answers as its script says, one entry per request.
class LyingServer {
  public:
    struct Answer {
        QByteArray status = "200 OK";
        QByteArray headers{};
        QByteArray body{};
        bool isCutOff = false;  ///< Announces more than it sends.
        bool hasLength = true;
        bool isStalled = false;  ///< Sends no more, and does not close.
    };

    LyingServer() {
        REQUIRE(m_server.listen(QHostAddress::LocalHost));
        QObject::connect(&m_server, &QTcpServer::newConnection, &m_server, [this] {
            QTcpSocket* socket = m_server.nextPendingConnection();
            QObject::connect(socket, &QTcpSocket::readyRead, socket, [this, socket] {
                m_request += socket->readAll();
                if (!m_request.contains("\r\n\r\n")) return;
                requests.append(std::exchange(m_request, {}));
                answer(socket);
            });
        });
    }

    QVector<Answer> answers;
    QVector<QByteArray> requests;
    [[nodiscard]] QUrl url() const {
        return QUrl(QStringLiteral("http://127.0.0.1:%1/m.gguf").arg(m_server.serverPort()));
    }

  private:
    void answer(QTcpSocket* socket) {
        REQUIRE_FALSE(answers.isEmpty());
        // The last one again and again: Qt repeats a request whose connection ends at once.
        const Answer a = answers.size() > 1 ? answers.takeFirst() : answers.first();
        QByteArray text = "HTTP/1.1 " + a.status + "\r\n" + a.headers;
        if (a.hasLength)
            text += "Content-Length: " +
                    QByteArray::number(a.body.size() + (a.isCutOff || a.isStalled ? 1000 : 0)) +
                    "\r\n";
        text += "Connection: close\r\n\r\n" + a.body;
        socket->write(text);
        if (!a.isStalled) socket->disconnectFromHost();
    }

    QTcpServer m_server;
    QByteArray m_request;
};

}  // namespace hokku::testing
