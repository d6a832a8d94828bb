// SPDX-License-Identifier: Apache-2.0
// The page of the models as a person uses it.
#include "models/models_page.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "gui/models/lying_server.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "support/golden.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

constexpr int kPatienceMs = 20'000;

struct Page {
    QApplication& app = application();
    QTemporaryDir home;
    AppFolders folders;
    std::unique_ptr<Settings> settings;
    std::unique_ptr<ModelsPage> page;
    QStringList notices;

    Page() {
        qputenv("HOKKU_HOME", home.path().toUtf8());
        const auto found = AppFolders::find(false);
        REQUIRE(found.ok());
        folders = *found;
        settings = std::make_unique<Settings>(folders.settingsFile);
    }
    void open() {
        page = std::make_unique<ModelsPage>(folders, *settings);
        QObject::connect(page.get(), &ModelsPage::noticed, page.get(),
                         [this](const NoticeWords& words) { notices.append(words()); });
        page->resize(800, 900);
        page->show();
    }
    QString write(const QString& path, const QByteArray& bytes) const {
        QFile file(path);
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        return path;
    }
    [[nodiscard]] QString inLibrary(const char* name) const {
        return folders.models + QLatin1Char('/') + QString::fromUtf8(name);
    }
    /// Everything that is to be seen.
    [[nodiscard]] QString text() const {
        QStringList texts;
        for (const QLabel* label : page->findChildren<QLabel*>())
            if (label->isVisible()) texts.append(label->text());
        return texts.join(QLatin1Char('\n')).replace(QChar::Nbsp, QLatin1Char(' '));
    }
    [[nodiscard]] bool waitFor(const QString& part) const {
        return QTest::qWaitFor([&] { return text().contains(part); }, kPatienceMs);
    }
    [[nodiscard]] QPushButton* button(const QString& name) const {
        for (auto* candidate : page->findChildren<QPushButton*>())
            if (candidate->isVisible() &&
                (candidate->accessibleName() == name || candidate->text() == name))
                return candidate;
        return nullptr;
    }
    void press(const char* name) const {
        QPushButton* found = button(QString::fromUtf8(name));
        CAPTURE(name);
        REQUIRE(found != nullptr);
        found->click();
    }
    void wantDownload(const QUrl& url, const QByteArray& hash = {}) const {
        page->findChild<QLineEdit*>(QStringLiteral("downloadUrl"))->setText(url.toString());
        page->findChild<QLineEdit*>(QStringLiteral("downloadHash"))
            ->setText(QString::fromLatin1(hash));
    }
};

/// Answers the question that opens while `work` runs; what it asked.
QString answer(QMessageBox::StandardButton choice, const std::function<void()>& work) {
    QString question;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, &timer, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box == nullptr) return;
        question = box->text();
        box->button(choice)->click();
    });
    timer.start(1);
    work();
    return question;
}

}  // namespace

TEST_CASE("ModelsPage: an empty library says what to do next", "[gui][quick]") {
    Page f;
    const QByteArray home = qgetenv("HOME");
    qputenv("HOME", f.home.path().toUtf8());
    f.open();
    CHECK(f.waitFor(QStringLiteral("No model was found yet. Add a .gguf file")));
    f.page.reset();
    qputenv("HOME", home);
}

TEST_CASE("ModelsPage: a file that cannot be used says why; what was added can be taken off",
          "[gui][quick]") {
    Page f;
    const QString broken = f.write(f.home.filePath(QStringLiteral("kaputt ä.gguf")), "nonsense");
    f.open();
    f.page->addFiles({broken});
    REQUIRE(f.waitFor(QStringLiteral("kaputt ä")));
    CHECK(f.waitFor(QStringLiteral("Cannot be used: It is not a model file (GGUF)")));
    CHECK(f.button(QStringLiteral("Use kaputt ä")) == nullptr);
    CHECK(f.button(QStringLiteral("Delete kaputt ä")) == nullptr);  // it is not ours
    f.press("Remove kaputt ä from the list");
    REQUIRE(
        QTest::qWaitFor([&] { return !f.text().contains(QStringLiteral("kaputt")); }, kPatienceMs));
    CHECK(QFile::exists(broken));
}

TEST_CASE("ModelsPage: deleting asks first, and takes the file of the library only",
          "[gui][quick]") {
    Page f;
    const QString path = f.write(f.inLibrary("mine.gguf"), "GGUF");
    f.open();
    REQUIRE(f.waitFor(QStringLiteral("mine")));
    QObject::connect(f.page.get(), &ModelsPage::aboutToDelete, f.page.get(),
                     [](const QString&, const std::function<void()>& then) { then(); });
    CHECK(
        answer(QMessageBox::No, [&] { f.press("Delete mine"); }).contains(QStringLiteral("mine")));
    CHECK(QFile::exists(path));
    answer(QMessageBox::Yes, [&] { f.press("Delete mine"); });
    CHECK_FALSE(QFile::exists(path));
    CHECK(QTest::qWaitFor([&] { return f.button(QStringLiteral("Delete mine")) == nullptr; },
                          kPatienceMs));
}

TEST_CASE("ModelsPage: a model has its facts, and what it needs beside what is free",
          "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    Page f;
    const QString name = QString::fromStdU16String(model->stem().u16string());
    const QString path = f.inLibrary("starter.gguf");
    REQUIRE(QFile::link(QString::fromStdU16String(model->u16string()), path));
    f.settings->setContextTokens(2048);
    f.open();
    REQUIRE(f.waitFor(QStringLiteral("starter")));
    // From the model's own card: SmolLM2-135M, Apache 2.0, 8,192 tokens, of the Llama family.
    for (const char* fact : {"Library", "llama", "million parameters", "context up to 8,192",
                             "apache-2.0", "MB", "for a context of 2,048 tokens", "are free"}) {
        CAPTURE(fact);
        CHECK(f.text().contains(QString::fromLatin1(fact)));
    }
    QSignalSpy chosen(f.page.get(), &ModelsPage::modelChosen);
    f.press("Use starter");
    REQUIRE(chosen.size() == 1);
    CHECK(chosen.first().first().toString() == path);
    f.page->setLoadedModel(path);
    CHECK(QTest::qWaitFor([&] { return f.button(QStringLiteral("In use")) != nullptr; },
                          kPatienceMs));
}

TEST_CASE("ModelsPage: only the button downloads, and the model is there when it is whole",
          "[gui][quick]") {
    Page f;
    LyingServer server;
    server.answers = {{.body = QByteArray("GGUF") + QByteArray(5000, 'x')}};
    f.open();
    f.wantDownload(server.url());
    QTest::keyClick(f.page->findChild<QLineEdit*>(QStringLiteral("downloadUrl")), Qt::Key_Return);
    QTest::qWait(100);
    CHECK(server.requests.isEmpty());
    f.press("Download");
    REQUIRE(QTest::qWaitFor([&] { return !f.notices.isEmpty(); }, kPatienceMs));
    CHECK(server.requests.size() == 1);
    CHECK(f.notices.first() == QStringLiteral("m.gguf was downloaded."));
    CHECK(QFile(f.inLibrary("m.gguf")).size() == 5004);
    CHECK(f.waitFor(QStringLiteral("Cannot be used")));  // it is listed, and is no model
}

TEST_CASE("ModelsPage: tells speed and time left, pauses, and goes on", "[gui][quick]") {
    Page f;
    LyingServer server;
    const QByteArray whole = QByteArray("GGUF") + QByteArray(5996, 'x');
    server.answers = {{.body = whole.first(5000), .isStalled = true},
                      {.status = "206 Partial Content",
                       .headers = "Content-Range: bytes 5000-5999/6000\r\n",
                       .body = whole.mid(5000)}};
    f.open();
    f.wantDownload(server.url());
    f.press("Download");
    REQUIRE(f.waitFor(QStringLiteral("seconds left")));
    CHECK(f.text().contains(QStringLiteral("5.0 kB of 6.0 kB at ")));
    CHECK_FALSE(QFile::exists(f.inLibrary("m.gguf")));
    f.press("Pause");
    CHECK(f.waitFor(QStringLiteral(", paused")));
    f.press("Go on");
    REQUIRE(QTest::qWaitFor([&] { return !f.notices.isEmpty(); }, kPatienceMs));
    REQUIRE(server.requests.size() == 2);
    CHECK(server.requests.last().contains("Range: bytes=5000-"));
    CHECK(QFile(f.inLibrary("m.gguf")).size() == 6000);
}

TEST_CASE("ModelsPage: what cannot be downloaded is said, and nothing of it stays",
          "[gui][quick]") {
    Page f;
    LyingServer server;
    server.answers = {{.body = "GGUF, but another"}};
    f.open();
    f.wantDownload(QUrl(QStringLiteral("http://127.0.0.1/readme.html")));
    f.press("Download");
    CHECK(f.waitFor(QStringLiteral("Give the address of a .gguf file.")));
    f.wantDownload(server.url(), "abc");
    f.press("Download");
    CHECK(f.waitFor(QStringLiteral("A SHA-256 has 64 digits.")));
    CHECK(server.requests.isEmpty());
    f.wantDownload(server.url(),
                   QCryptographicHash::hash("wanted", QCryptographicHash::Sha256).toHex());
    f.press("Download");
    CHECK(f.waitFor(QStringLiteral("is not the one that was expected")));
    REQUIRE(QTest::qWaitFor(
        [&] { return QDir(f.folders.models).isEmpty(QDir::Files | QDir::Hidden); }, kPatienceMs));
    CHECK(server.requests.size() == 1);
    CHECK(f.notices.isEmpty());
}
