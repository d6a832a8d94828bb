// SPDX-License-Identifier: Apache-2.0
#include "models/download.h"

#include <QCryptographicHash>
#include <QEventLoop>
#include <QFileInfo>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <QTimer>

#include "gui/support/application.h"
#include "support/catch.h"

using namespace hokku::desktop;

namespace {

/// An HTTP server that answers as its script says, once per request.
class LyingServer {
  public:
    struct Answer {
        QByteArray status = "200 OK";
        QByteArray headers{};
        QByteArray body{};
        bool isCutOff = false;  ///< Announces more than it sends.
        bool hasLength = true;
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
        const Answer a = answers.takeFirst();
        QByteArray text = "HTTP/1.1 " + a.status + "\r\n" + a.headers;
        if (a.hasLength)
            text +=
                "Content-Length: " + QByteArray::number(a.body.size() + (a.isCutOff ? 1000 : 0)) +
                "\r\n";
        text += "Connection: close\r\n\r\n" + a.body;
        socket->write(text);
        socket->disconnectFromHost();
    }

    QTcpServer m_server;
    QByteArray m_request;
};

/// What one attempt came to: "finished", "paused" or the reason of the failure.
QString outcome(Download& download) {
    QEventLoop loop;
    QString result = QStringLiteral("timeout");
    const auto end = [&](const QString& text) {
        result = text;
        loop.quit();
    };
    const auto a = QObject::connect(&download, &Download::finished, &loop,
                                    [&] { end(QStringLiteral("finished")); });
    const auto b = QObject::connect(&download, &Download::failed, &loop, end);
    constexpr int kPatienceMs = 20'000;
    QTimer::singleShot(kPatienceMs, &loop, &QEventLoop::quit);
    QTimer::singleShot(0, &download, &Download::start);
    loop.exec();
    QObject::disconnect(a);
    QObject::disconnect(b);
    return result;
}

QByteArray content() {
    QByteArray bytes;
    for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7 % 251);
    return bytes;
}

QByteArray sha256(const QByteArray& bytes) {
    return QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex();
}

QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("(absent)");
}

struct Fixture {
    QApplication& application = hokku::testing::application();  // before what has sockets
    QTemporaryDir folder;
    LyingServer server;
    [[nodiscard]] QString target() const { return folder.filePath(QStringLiteral("m.gguf")); }
    [[nodiscard]] QString part() const { return target() + QStringLiteral(".part"); }
    [[nodiscard]] DownloadRequest request(const QByteArray& hash = {}) const {
        return {.url = server.url(), .target = target(), .bytes = -1, .sha256 = hash};
    }
};

}  // namespace

TEST_CASE("Download: a whole file gets its name, and no part is left", "[gui][quick]") {
    Fixture f;
    f.server.answers = {{.body = content()}};
    Download download(f.request(sha256(content())));
    CHECK(outcome(download).toStdString() == "finished");
    CHECK((read(f.target()) == content()));
    CHECK_FALSE(QFileInfo::exists(f.part()));
}

TEST_CASE("Download: goes on where it broke off", "[gui][quick]") {
    Fixture f;
    const QByteArray all = content(), first = all.left(123'456), rest = all.mid(123'456);
    f.server.answers = {
        {.body = first, .isCutOff = true},
        {.status = "206 Partial Content",
         .headers = "Content-Range: bytes 123456-299999/300000\r\n",
         .body = rest},
    };
    Download download(f.request(sha256(all)));
    const QString reason = outcome(download);
    INFO(reason.toStdString());
    CHECK(reason.contains(QStringLiteral("broke off")));
    CHECK_FALSE(QFileInfo::exists(f.target()));
    CHECK((read(f.part()) == first));
    CHECK(outcome(download).toStdString() == "finished");
    CHECK(f.server.requests.last().contains("Range: bytes=123456-"));
    CHECK((read(f.target()) == all));
}

TEST_CASE("Download: a server without ranges sends the file anew", "[gui][quick]") {
    Fixture f;
    f.server.answers = {{.body = content().left(1000), .isCutOff = true}, {.body = content()}};
    Download download(f.request(sha256(content())));
    CHECK(outcome(download).contains(QStringLiteral("broke off")));
    CHECK(outcome(download).toStdString() == "finished");
    CHECK((read(f.target()) == content()));
}

TEST_CASE("Download: a range that was not asked for is refused and nothing is kept",
          "[gui][quick]") {
    Fixture f;
    f.server.answers = {
        {.body = content().left(1000), .isCutOff = true},
        {.status = "206 Partial Content",
         .headers = "Content-Range: bytes 0-299999/300000\r\n",
         .body = content()},
        {.body = content()},
    };
    Download download(f.request(sha256(content())));
    CHECK(outcome(download).contains(QStringLiteral("broke off")));
    CHECK(outcome(download).contains(QStringLiteral("another part")));
    CHECK_FALSE(QFileInfo::exists(f.part()));
    CHECK(outcome(download).toStdString() == "finished");
    CHECK((read(f.target()) == content()));
}

TEST_CASE("Download: a file with another hash is removed", "[gui][quick]") {
    Fixture f;
    f.server.answers = {{.body = content()}};
    Download download(f.request(sha256("something else")));
    CHECK(outcome(download).contains(QStringLiteral("SHA-256")));
    CHECK_FALSE(QFileInfo::exists(f.target()));
    CHECK_FALSE(QFileInfo::exists(f.part()));
}

TEST_CASE("Download: errors of the server do not become files", "[gui][quick]") {
    Fixture f;
    f.server.answers = {{.status = "404 Not Found", .body = "<html>no</html>"},
                        {.status = "500 Oops", .body = "<html>no</html>"}};
    Download download(f.request());
    CHECK(outcome(download) != QStringLiteral("finished"));
    CHECK(outcome(download) != QStringLiteral("finished"));
    CHECK_FALSE(QFileInfo::exists(f.target()));
    CHECK(read(f.part()).isEmpty());
}

TEST_CASE("Download: another size than expected is refused at the headers", "[gui][quick]") {
    Fixture f;
    f.server.answers = {{.body = content()}};
    DownloadRequest request = f.request();
    request.bytes = 299'999;
    Download download(request);
    CHECK(outcome(download).contains(QStringLiteral("300000")));
    CHECK_FALSE(QFileInfo::exists(f.target()));
}

TEST_CASE("Download: addresses of other kinds and full disks are refused at once", "[gui][quick]") {
    Fixture f;
    DownloadRequest request = f.request();
    request.url = QUrl(QStringLiteral("file:///etc/passwd"));
    Download file(request);
    CHECK(outcome(file).contains(QStringLiteral("http")));
    request = f.request();
    request.bytes = qint64{1} << 60;
    Download huge(request);
    CHECK(outcome(huge).contains(QStringLiteral("room")));
    CHECK(f.server.requests.isEmpty());
}
