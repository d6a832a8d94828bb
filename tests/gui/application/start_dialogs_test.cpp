// SPDX-License-Identifier: Apache-2.0
// What is said before the window is there, in both languages.
#include "application/start_dialogs.h"

#include <QAbstractButton>
#include <QDir>
#include <QFile>
#include <QMessageBox>
#include <QTest>
#include <QTimer>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "gui/support/usual_places.h"
#include "settings/data_folder.h"
#include "settings/language.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Seen {
    QStringList texts;    ///< Of one dialog each, with what stands below it.
    QStringList buttons;  ///< Of all dialogs.
};

/// Presses the first button with this role in each message box that opens while `work` runs.
Seen see(const std::vector<QMessageBox::ButtonRole>& presses, const std::function<void()>& work) {
    Seen seen;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, &timer, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box == nullptr) return;
        const auto nth = static_cast<size_t>(seen.texts.size());
        seen.texts.append(box->text() + QLatin1Char('\n') + box->informativeText());
        QAbstractButton* pressed = nullptr;
        for (QAbstractButton* button : box->buttons()) {
            seen.buttons.append(button->text());
            const bool isWanted = nth >= presses.size() || box->buttonRole(button) == presses[nth];
            if (pressed == nullptr && isWanted) pressed = button;
        }
        REQUIRE(pressed != nullptr);
        pressed->click();
    });
    timer.start(1);
    work();
    return seen;
}

/// The app's folders in a temporary one, with a library in the usual place.
struct Fixture : UsualPlaces {
    QApplication& app = application();  // before the language
    Language language;
    AppFolders folders = find();

    Fixture() {
        QFile chats(folders.chatsFile());
        REQUIRE(chats.open(QIODevice::WriteOnly));
        chats.write("chats");
    }
    ~Fixture() { language.apply(QStringLiteral("en")); }
    Fixture(const Fixture&) = delete;
    Fixture& operator=(const Fixture&) = delete;
};

void checkHas(const QString& text, const QString& part) {
    INFO(text.toStdString() << "\n...has: " << part.toStdString());
    CHECK(text.contains(part));
}

struct Words {
    const char *language, *text;
};

}  // namespace

TEST_CASE("Start: a data folder that is gone is asked for, looked for again, or left",
          "[gui][quick]") {
    Fixture f;
    const QString disk = f.path("disk ä");
    REQUIRE(DataFolder::want(f.folders, disk).isEmpty());
    CopyProgress progress;
    REQUIRE(DataFolder::carryOut(f.folders, progress).isEmpty());
    REQUIRE(QDir().rename(disk, f.path("taken out")));
    for (const Words& words : {Words{"en", "The folder with your conversations is not there: %1"},
                               Words{"de", "Der Ordner mit den Unterhaltungen ist nicht da: %1"}}) {
        CAPTURE(words.language);
        f.language.apply(QString::fromLatin1(words.language));
        AppFolders folders = Fixture::find();
        REQUIRE(folders.isMissing);
        bool isFound = true;
        Seen seen = see({QMessageBox::AcceptRole, QMessageBox::RejectRole},
                        [&] { isFound = findMissingFolder(folders, false); });
        CHECK_FALSE(isFound);  // looked for again, then given up
        REQUIRE(seen.texts.size() == 2);
        checkHas(seen.texts.first(), QString::fromUtf8(words.text).arg(disk));
        CHECK(seen.buttons.size() == 6);
        const bool isGerman = words.language == std::string("de");
        for (const char* text : {"Look again", "Use the usual folder", "Quit"})
            CHECK(seen.buttons.contains(QString::fromLatin1(text)) != isGerman);
    }
    AppFolders folders = Fixture::find();
    SECTION("connected again it is used") {
        bool isFound = false;
        int looks = 0;
        const Seen seen = see({QMessageBox::AcceptRole}, [&] {
            QTimer::singleShot(0, [&] { looks += QDir().rename(f.path("taken out"), disk); });
            isFound = findMissingFolder(folders, false);
        });
        CHECK(isFound);
        CHECK(looks == 1);
        CHECK(folders.data == disk);
        CHECK_FALSE(folders.isMissing);
    }
    SECTION("without it the usual one is used") {
        bool isFound = false;
        see({QMessageBox::DestructiveRole}, [&] { isFound = findMissingFolder(folders, false); });
        CHECK(isFound);
        CHECK(folders.data == f.folders.data);
    }
}

TEST_CASE("Start: the data folder moves, or all stays where it was and that is said",
          "[gui][quick]") {
    Fixture f;
    for (const Words& words : {Words{"en", "Everything stays where it was, in %1"},
                               Words{"de", "Alles bleibt, wo es war, in %1"}}) {
        CAPTURE(words.language);
        f.language.apply(QString::fromLatin1(words.language));
        REQUIRE(DataFolder::want(f.folders, f.path("gone")).isEmpty());
        REQUIRE(QDir().rmdir(f.path("gone")));
        AppFolders folders = f.folders;
        bool hasMoved = true;
        const Seen seen = see({}, [&] { hasMoved = moveDataFolder(folders); });
        CHECK_FALSE(hasMoved);
        REQUIRE(seen.texts.size() == 1);
        checkHas(seen.texts.first(), QString::fromUtf8(words.text).arg(f.folders.data));
        checkHas(seen.texts.first(), f.path("gone"));
        CHECK(folders.data == f.folders.data);
    }
    REQUIRE(DataFolder::want(f.folders, f.path("new")).isEmpty());
    AppFolders folders = f.folders;
    const Seen seen = see({}, [&] { CHECK(moveDataFolder(folders)); });
    CHECK(seen.texts.isEmpty());
    CHECK(folders.data == f.path("new"));
    CHECK(QFile::exists(f.path("new/chats.sqlite")));
}

TEST_CASE("Start: beside a program whose folder cannot be written nothing starts, and it is said",
          "[gui][quick]") {
    Fixture f;
    AppFolders folders;
    folders.isPortable = folders.isMissing = true;
    folders.data = QStringLiteral("/usr/bin/hokku-data");
    for (const Words& words :
         {Words{"en", "the folder /usr/bin/hokku-data cannot be made"},
          Words{"de", "der Ordner /usr/bin/hokku-data lässt sich nicht anlegen"}}) {
        CAPTURE(words.language);
        f.language.apply(QString::fromLatin1(words.language));
        const Seen seen = see({}, [&] { CHECK_FALSE(findMissingFolder(folders, false)); });
        REQUIRE(seen.texts.size() == 1);
        checkHas(seen.texts.first(), QString::fromUtf8(words.text));
        checkHas(seen.texts.first(), QStringLiteral("--portable"));
    }
    // The self test has nobody who would close a dialog.
    const Seen seen = see({}, [&] { CHECK_FALSE(findMissingFolder(folders, true)); });
    CHECK(seen.texts.isEmpty());
}

TEST_CASE("Start: another Hokku that does not answer is told", "[gui][quick]") {
    Fixture f;
    for (const Words& words : {Words{"en", "is running already, but does not answer"},
                               Words{"de", "läuft schon, antwortet aber nicht"}}) {
        f.language.apply(QString::fromLatin1(words.language));
        const Seen seen = see({}, [] { tellFailure(silenceText(), false); });
        REQUIRE(seen.texts.size() == 1);
        checkHas(seen.texts.first(), QString::fromUtf8(words.text));
    }
}
