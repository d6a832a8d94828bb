// SPDX-License-Identifier: Apache-2.0
// What a person sees of a disk that is full or read-only, and that the session goes on.
#include <sys/resource.h>

#include <QLabel>
#include <QTreeView>
#include <csignal>

#include "conversations/database.h"
#include "gui/application/window_fixture.h"
#include "settings/language.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Whether a label that is to be seen has this in it.
bool isShown(const MainWindow& window, const QString& text) {
    for (const QLabel* label : window.findChildren<QLabel*>())
        if (label->isVisible() && label->text().contains(text)) return true;
    return false;
}

/// Something that is wrong with the files, and what is said of it.
struct Trouble {
    const char* name;
    std::function<void(WindowFixture&)> make;
    const char *english, *german;
};

void overwrite(const QString& path, const QByteArray& content) {
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write(content);
}

}  // namespace

TEST_CASE("MainWindow: what is wrong with the files at the start is said in both languages",
          "[gui][quick]") {
    WindowFixture f;
    Language language;
    f.say("Hello");
    const Trouble troubles[] = {
        {"nothing", [](WindowFixture&) {}, nullptr, nullptr},
        {"settings",
         [](WindowFixture& own) {
             overwrite(own.folders.settingsFile, "[General]\nlanguage=de\n[window\n");
         },
         "The file of the settings was damaged", "Die Datei der Einstellungen war beschädigt"},
        {"newer version",
         [](WindowFixture& own) {
             auto file = Database::open(own.folders.chatsFile(), Database::Access::readWrite);
             REQUIRE(file.ok());
             REQUIRE((*file)->runAll({QStringLiteral("PRAGMA user_version=999")}).ok());
         },
         "written by a newer version of Hokku", "stammen von einer neueren Version von Hokku"},
        {"damaged",
         [](WindowFixture& own) { overwrite(own.folders.chatsFile(), QByteArray(5000, 'x')); },
         "cannot be read. The file is left as it is", "Die Datei bleibt, wie sie ist"},
        {"no folder",
         [](WindowFixture& own) {
             own.folders.data = own.folders.settingsFile;  // a file
         },
         "The conversations cannot be stored",
         "Die Unterhaltungen können nicht gespeichert werden"},
    };
    for (const Trouble& trouble : troubles) {
        CAPTURE(trouble.name);
        f.window.reset();
        f.store.reset();
        trouble.make(f);
        f.settings = std::make_unique<Settings>(f.folders.settingsFile);
        f.openStore();
        f.openWindow();
        auto* notice = f.find<QLabel>("noticeText");
        language.apply(QStringLiteral("en"));
        CHECK(notice->isVisible() == (trouble.english != nullptr));
        if (trouble.english == nullptr) continue;
        CHECK(notice->text().toStdString().find(trouble.english) != std::string::npos);
        language.apply(QStringLiteral("de"));
        QTest::qWait(1);  // widgets hear of it then
        CHECK(notice->text().toStdString().find(trouble.german) != std::string::npos);
        language.apply(QStringLiteral("en"));
        f.say("It goes on");
        CHECK(f.window->session().turns().last().content == QStringLiteral("An answer."));
    }
}

TEST_CASE("MainWindow: several things that are wrong are all said, also after a model has warned",
          "[gui][quick]") {
    WindowFixture f;
    f.window.reset();
    f.store.reset();
    overwrite(f.folders.settingsFile, "[General]\nlanguage=en\n[window\n");
    overwrite(f.folders.presets() + QStringLiteral("/broken.json"), "{");
    f.settings = std::make_unique<Settings>(f.folders.settingsFile);
    QFile blocker(f.folder.filePath(QStringLiteral("file")));
    REQUIRE(blocker.open(QIODevice::WriteOnly));
    auto store = ChatStore::open(blocker.fileName() + QStringLiteral("/chats.sqlite"));
    REQUIRE(store.ok());
    f.store = std::move(*store);
    f.openWindow();
    for (const char* text : {"settings was damaged", "broken.json", "cannot be stored"})
        CHECK(isShown(*f.window, QString::fromLatin1(text)));
    ModelInfo info = *f.generator->model();
    info.warnings = {"the model has no chat template: it continues text only", "something else"};
    emit f.generator->modelReady(info);
    CHECK(isShown(*f.window, QStringLiteral("no chat template")));
    CHECK(isShown(*f.window, QStringLiteral("something else")));
    CHECK(isShown(*f.window, QStringLiteral("cannot be stored")));
}

TEST_CASE("Settings: of a damaged file what can be read stays, and it is written again",
          "[gui][quick]") {
    const AppFixture f;
    const QByteArray broken = "[General]\nlanguage=de\nfont_percent=140\n[window\nx=1\n";
    overwrite(f.folders.settingsFile, broken);
    {
        Settings settings(f.folders.settingsFile);
        CHECK(settings.damagedFile() == f.folders.settingsFile + QStringLiteral(".damaged"));
        CHECK(settings.language() == QStringLiteral("de"));
        CHECK(settings.fontPercent() == 140);
        settings.setFontPercent(120);
    }
    QFile kept(f.folders.settingsFile + QStringLiteral(".damaged"));
    REQUIRE(kept.open(QIODevice::ReadOnly));
    CHECK(kept.readAll() == broken);
    const Settings again(f.folders.settingsFile);
    CHECK(again.damagedFile().isEmpty());
    CHECK(again.fontPercent() == 120);
    CHECK(again.language() == QStringLiteral("de"));
}

TEST_CASE("MainWindow: without a place for the conversations it says so and works",
          "[gui][quick]") {
    WindowFixture f;
    QFile blocker(f.folder.filePath(QStringLiteral("file")));
    REQUIRE(blocker.open(QIODevice::WriteOnly));
    f.window.reset();
    auto store = ChatStore::open(blocker.fileName() + QStringLiteral("/chats.sqlite"));
    REQUIRE(store.ok());
    f.store = std::move(*store);
    f.openWindow();
    CHECK(isShown(*f.window, QStringLiteral("cannot be stored")));
    f.say("Hello");
    REQUIRE(f.window->session().turns().size() == 2);
    CHECK(f.window->session().turns().last().content == QStringLiteral("An answer."));
    f.say("Again");
    CHECK(f.window->session().turns().size() == 4);
    QTest::qWait(50);
    CHECK(f.find<QTreeView>("conversationTree")->model()->rowCount() == 1);
}

TEST_CASE("MainWindow: when the disk becomes full no message is lost from sight", "[gui][quick]") {
    WindowFixture f;
    f.say("Hello");
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit none = before;
    none.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    f.say("Is there room?");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(isShown(*f.window, QStringLiteral("cannot be stored")));
    REQUIRE(f.window->session().turns().size() == 4);
    CHECK(f.window->session().turns()[2].content == QStringLiteral("Is there room?"));
    CHECK(f.window->session().turns()[3].state == MessageState::complete);
    const ChatId chat = f.window->session().chat();
    f.window.reset();
    f.openStore();  // closing the old one has stored it
    CHECK(f.store->messages(chat)->size() == 4);
}
