// SPDX-License-Identifier: Apache-2.0
#include "models/download.h"

#include <QCryptographicHash>
#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "gui/models/lying_server.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using hokku::testing::LyingServer;

namespace {

constexpr int kPatienceMs = 20'000;

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
    [[nodiscard]] QStringList files() const {
        return QDir(folder.path()).entryList(QDir::Files, QDir::Name);
    }
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
    CHECK(f.files() == QStringList{QStringLiteral("m.gguf")});
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
    CHECK(f.files().isEmpty());
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

TEST_CASE("Download: paused it keeps what has come, and goes on from there", "[gui][quick]") {
    Fixture f;
    const QByteArray all = content();
    f.server.answers = {
        {.body = all.left(200'000), .isStalled = true},
        {.status = "206 Partial Content",
         .headers = "Content-Range: bytes 200000-299999/300000\r\n",
         .body = all.mid(200'000)},
    };
    Download download(f.request(sha256(all)));
    QSignalSpy progressed(&download, &Download::progressed);
    download.start();
    while (download.received() < 200'000) REQUIRE(progressed.wait(kPatienceMs));
    QSignalSpy paused(&download, &Download::paused);
    download.pause();
    CHECK(paused.size() == 1);
    CHECK_FALSE(download.isRunning());
    CHECK((read(f.part()) == all.left(200'000)));
    CHECK_FALSE(QFileInfo::exists(f.target()));
    CHECK(outcome(download).toStdString() == "finished");
    CHECK(f.server.requests.last().contains("Range: bytes=200000-"));
    CHECK((read(f.target()) == all));
    CHECK(f.files() == QStringList{QStringLiteral("m.gguf")});
}

TEST_CASE("Download: goes on in a later run of the program", "[gui][quick]") {
    Fixture f;
    const QByteArray all = content();
    f.server.answers = {
        {.headers = "ETag: \"one\"\r\n", .body = all.left(1000), .isCutOff = true},
        {.status = "206 Partial Content",
         .headers = "ETag: \"one\"\r\nContent-Range: bytes 1000-299999/300000\r\n",
         .body = all.mid(1000)},
    };
    CHECK(outcome(*std::make_unique<Download>(f.request())).contains(QStringLiteral("broke off")));
    Download later(f.request());
    CHECK(outcome(later).toStdString() == "finished");
    CHECK(f.server.requests.last().contains("If-Range: \"one\""));
    CHECK((read(f.target()) == all));
}

TEST_CASE("Download: parts of two versions of a file are never put together", "[gui][quick]") {
    const QByteArray all = content(), other(300'000, 'n');
    SECTION("a server that knows If-Range sends the new one whole") {
        Fixture f;
        f.server.answers = {
            {.headers = "ETag: \"one\"\r\n", .body = other.left(1000), .isCutOff = true},
            {.headers = "ETag: \"two\"\r\n", .body = all}};
        Download download(f.request());
        CHECK(outcome(download).contains(QStringLiteral("broke off")));
        CHECK(outcome(download).toStdString() == "finished");
        CHECK((read(f.target()) == all));
    }
    SECTION("of one that does not, the end of the new one is refused") {
        Fixture f;
        f.server.answers = {
            {.headers = "ETag: \"one\"\r\n", .body = other.left(1000), .isCutOff = true},
            {.status = "206 Partial Content",
             .headers = "ETag: \"two\"\r\nContent-Range: bytes 1000-299999/300000\r\n",
             .body = all.mid(1000)},
            {.headers = "ETag: \"two\"\r\n", .body = all}};
        Download download(f.request());
        CHECK(outcome(download).contains(QStringLiteral("broke off")));
        CHECK(outcome(download).contains(QStringLiteral("no longer the same")));
        CHECK(f.files().isEmpty());
        CHECK(outcome(download).toStdString() == "finished");
        CHECK((read(f.target()) == all));
    }
    SECTION("a part of another address with the same name is not gone on with") {
        Fixture f;
        f.server.answers = {{.body = other.left(1000), .isCutOff = true}, {.body = all}};
        CHECK(outcome(*std::make_unique<Download>(f.request()))
                  .contains(QStringLiteral("broke off")));
        DownloadRequest request = f.request();
        request.url.setPath(QStringLiteral("/elsewhere/m.gguf"));
        Download download(request);
        CHECK(outcome(download).toStdString() == "finished");
        CHECK_FALSE(f.server.requests.last().contains("Range:"));
        CHECK((read(f.target()) == all));
    }
}

TEST_CASE("Download: a file of unknown length is refused unless its hash is known",
          "[gui][quick]") {
    Fixture f;
    const QByteArray all = content();
    f.server.answers = {{.body = all.left(1000), .hasLength = false}};
    Download unknown(f.request());
    CHECK(outcome(unknown).contains(QStringLiteral("how long")));
    CHECK(f.files().isEmpty());
    Download known(f.request(sha256(all)));
    CHECK(outcome(known).contains(QStringLiteral("SHA-256")));
    CHECK(f.files().isEmpty());
    f.server.answers = {{.body = all, .hasLength = false}};
    CHECK(outcome(known).toStdString() == "finished");
    CHECK((read(f.target()) == all));
}

TEST_CASE("Download: when all had come before, nothing is left to be sent", "[gui][quick]") {
    Fixture f;
    const QByteArray all = content();
    f.server.answers = {
        {.body = all, .isStalled = true},
        {.status = "416 Range Not Satisfiable", .headers = "Content-Range: bytes */300000\r\n"}};
    Download download(f.request(sha256(all)));
    QSignalSpy progressed(&download, &Download::progressed);
    download.start();
    while (download.received() < all.size()) REQUIRE(progressed.wait(kPatienceMs));
    download.pause();
    CHECK(outcome(download).toStdString() == "finished");
    CHECK((read(f.target()) == all));
}

TEST_CASE("Download: while it is checked it is running, and can be cancelled at once",
          "[gui][quick]") {
    Fixture f;
    // Sparse: long to hash, quick to make.
    constexpr qint64 kBytes = qint64{2} << 30;
    {
        QFile part(f.part());
        REQUIRE(part.open(QIODevice::WriteOnly));
        REQUIRE(part.resize(kBytes));
        QFile from(f.part() + QStringLiteral(".from"));
        REQUIRE(from.open(QIODevice::WriteOnly));
        from.write(f.server.url().toEncoded() + "\n\n");
    }
    f.server.answers = {
        {.status = "416 Range Not Satisfiable",
         .headers = "Content-Range: bytes */" + QByteArray::number(kBytes) + "\r\n"}};
    Download download(f.request(sha256(content())));
    QSignalSpy checking(&download, &Download::checking);
    QSignalSpy failed(&download, &Download::failed);
    QSignalSpy finished(&download, &Download::finished);
    download.start();
    REQUIRE(checking.wait(kPatienceMs));
    CHECK(download.isRunning());
    download.start();  // does nothing
    download.pause();
    CHECK(download.isRunning());
    QElapsedTimer clock;
    clock.start();
    download.cancel();
    CHECK(clock.elapsed() < 500);
    CHECK_FALSE(download.isRunning());
    QTest::qWait(50);
    CHECK(failed.isEmpty());
    CHECK(finished.isEmpty());
    CHECK(f.files().isEmpty());
}

TEST_CASE("Download: what the server refuses is said in its words", "[gui][quick]") {
    Fixture f;
    f.server.answers = {{.status = "404 Not Found", .body = "<html>no</html>"}};
    Download download(f.request());
    CHECK(outcome(download).contains(QStringLiteral("404 Not Found")));
}

TEST_CASE("Download: a model by that name is replaced in one step", "[gui][quick]") {
    Fixture f;
    QFile old(f.target());
    REQUIRE(old.open(QIODevice::WriteOnly));
    old.write("old");
    old.close();
    f.server.answers = {{.body = "short", .isCutOff = true}, {.body = content()}};
    Download download(f.request(sha256(content())));
    CHECK(outcome(download).contains(QStringLiteral("broke off")));
    CHECK((read(f.target()) == QByteArray("old")));
    CHECK(outcome(download).toStdString() == "finished");
    CHECK((read(f.target()) == content()));
}
