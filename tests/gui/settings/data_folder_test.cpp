// SPDX-License-Identifier: Apache-2.0
#include "settings/data_folder.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSettings>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "gui/support/usual_places.h"
#include "settings/settings_page.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// The usual places in a home of the test's own, with a library in them.
struct Fixture : UsualPlaces {
    QApplication& app = application();
    CopyProgress progress;
    AppFolders folders = find();

    Fixture() {
        write(folders.data + QStringLiteral("/chats.sqlite"), "chats");
        write(folders.data + QStringLiteral("/chats.sqlite-wal"), "not yet in chats");
        write(folders.data + QStringLiteral("/chats.sqlite-shm"), "of a process");
        write(folders.presets() + QStringLiteral("/Größe.json"), "{}");
        write(folders.models + QStringLiteral("/m.gguf"), QByteArray(3 << 20, 'm'));
        write(path("elsewhere.gguf"), "e");
        REQUIRE(QFile::link(path("elsewhere.gguf"), folders.models + QStringLiteral("/e.gguf")));
    }
    static void write(const QString& path, const QByteArray& content) {
        QFile file(path);
        REQUIRE(file.open(QIODevice::WriteOnly));
        REQUIRE(file.write(content) == content.size());
    }
    static QByteArray read(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("(none)");
    }
    QString copy() { return DataFolder::carryOut(folders, progress); }
};

}  // namespace

TEST_CASE("DataFolder: the library is copied whole, and the old one stays", "[gui][quick]") {
    Fixture f;
    const QString target = f.path("disk/Größe ☂");
    CHECK(f.folders.isChoosable);
    {
        Settings settings(f.folders.settingsFile);
        settings.setModelPath(f.folders.models + QStringLiteral("/m.gguf"));
    }
    CHECK(DataFolder::want(f.folders, target).isEmpty());
    CHECK(DataFolder::wanted(f.folders) == target);
    CHECK(Fixture::find().data == f.folders.data);  // nothing changes before the copy
    REQUIRE(f.copy().isEmpty());
    const AppFolders moved = Fixture::find();
    CHECK(moved.data == target);
    CHECK(moved.models == target + QStringLiteral("/models"));
    CHECK(moved.settingsFile == f.folders.settingsFile);
    CHECK(DataFolder::wanted(moved).isEmpty());
    for (const QString& folder : {f.folders.data, target}) {
        CHECK(Fixture::read(folder + QStringLiteral("/chats.sqlite")) == "chats");
        CHECK(Fixture::read(folder + QStringLiteral("/chats.sqlite-wal")) == "not yet in chats");
        CHECK(Fixture::read(folder + QStringLiteral("/presets/Größe.json")) == "{}");
        CHECK(Fixture::read(folder + QStringLiteral("/models/m.gguf")).size() == 3 << 20);
        CHECK(QFileInfo(folder + QStringLiteral("/models/e.gguf")).symLinkTarget() ==
              f.path("elsewhere.gguf"));
    }
    CHECK_FALSE(QFileInfo::exists(target + QStringLiteral("/chats.sqlite-shm")));
    CHECK(f.progress.doneBytes == f.progress.totalBytes);
    CHECK(Settings(moved.settingsFile).modelPath() == target + QStringLiteral("/models/m.gguf"));
}

TEST_CASE("DataFolder: a copy that was broken off goes on, and replaces nothing of others",
          "[gui][quick]") {
    Fixture f;
    const QString target = f.path("disk");
    REQUIRE(DataFolder::want(f.folders, target).isEmpty());
    REQUIRE(QDir().mkpath(target + QStringLiteral("/models")));
    // As a killed process leaves it: a whole file, and a part of another one.
    REQUIRE(QFile::copy(f.folders.models + QStringLiteral("/m.gguf"),
                        target + QStringLiteral("/models/m.gguf")));
    Fixture::write(target + QStringLiteral("/chats.sqlite.copy-part"), "ch");
    REQUIRE(f.copy().isEmpty());
    CHECK(Fixture::read(target + QStringLiteral("/chats.sqlite")) == "chats");
    CHECK_FALSE(QFileInfo::exists(target + QStringLiteral("/chats.sqlite.copy-part")));

    Fixture g;
    const QString other = g.path("other");
    REQUIRE(DataFolder::want(g.folders, other).isEmpty());
    REQUIRE(QDir().mkpath(other + QStringLiteral("/presets")));
    Fixture::write(other + QStringLiteral("/presets/Größe.json"), "mine");
    CHECK(g.copy().contains(QStringLiteral("Größe.json")));
    CHECK(Fixture::read(other + QStringLiteral("/presets/Größe.json")) == "mine");
    CHECK_FALSE(DataFolder::isLibrary(other));
    CHECK(Fixture::find().data == g.folders.data);
    CHECK(DataFolder::wanted(g.folders).isEmpty());
}

TEST_CASE("DataFolder: when it is cancelled or the disk is gone, all stays as it was",
          "[gui][quick]") {
    Fixture f;
    const QString target = f.path("disk");
    REQUIRE(DataFolder::want(f.folders, target).isEmpty());
    f.progress.isCancelled = true;
    CHECK_FALSE(f.copy().isEmpty());
    CHECK(QDir(target).entryList(QDir::Files).isEmpty());
    CHECK(Fixture::find().data == f.folders.data);
    CHECK(f.copy().isEmpty());  // there is no wish any more

    f.progress.isCancelled = false;
    REQUIRE(DataFolder::want(f.folders, target).isEmpty());
    REQUIRE(QDir(target).removeRecursively());
    CHECK_FALSE(f.copy().isEmpty());
    CHECK_FALSE(QFileInfo::exists(target));
    CHECK(Fixture::find().data == f.folders.data);
}

TEST_CASE("DataFolder: a library that is there already is used as it is", "[gui][quick]") {
    Fixture f;
    const QString target = f.path("other");
    REQUIRE(QDir().mkpath(target));
    Fixture::write(target + QStringLiteral("/chats.sqlite"), "other chats");
    REQUIRE(DataFolder::want(f.folders, target).isEmpty());
    REQUIRE(f.copy().isEmpty());
    CHECK(Fixture::find().data == target);
    CHECK(Fixture::read(target + QStringLiteral("/chats.sqlite")) == "other chats");
    CHECK(Fixture::read(f.folders.chatsFile()) == "chats");
}

TEST_CASE("DataFolder: folders that cannot be used are refused when they are chosen",
          "[gui][quick]") {
    Fixture f;
    CHECK_FALSE(DataFolder::want(f.folders, f.folders.presets()).isEmpty());
    CHECK(DataFolder::wanted(f.folders).isEmpty());
    // With other things in it, a folder in it is taken.
    const QString documents = f.path("documents");
    REQUIRE(QDir().mkpath(documents));
    Fixture::write(documents + QStringLiteral("/.hidden"), "x");
    CHECK(DataFolder::want(f.folders, documents).isEmpty());
    CHECK(DataFolder::wanted(f.folders) == documents + QStringLiteral("/Hokku"));
    Fixture::write(documents + QStringLiteral("/Hokku/x"), "x");
    CHECK_FALSE(DataFolder::want(f.folders, documents).isEmpty());
    // The present one takes the wish back.
    CHECK(DataFolder::want(f.folders, f.folders.data).isEmpty());
    CHECK(DataFolder::wanted(f.folders).isEmpty());
    CHECK_FALSE(DataFolder::want(f.folders, QStringLiteral("/proc/hokku")).isEmpty());
}

TEST_CASE("AppFolders: a chosen folder that is gone is not made anew", "[gui][quick]") {
    Fixture f;
    const QString target = f.path("disk");
    REQUIRE(DataFolder::want(f.folders, target).isEmpty());
    REQUIRE(f.copy().isEmpty());
    REQUIRE(QDir(target).removeRecursively());
    const AppFolders missing = Fixture::find();
    CHECK(missing.data == target);
    CHECK(missing.isMissing);
    CHECK_FALSE(QFileInfo::exists(target));
    DataFolder::forget(missing);
    CHECK(Fixture::find().data == f.folders.data);
    CHECK_FALSE(Fixture::find().isMissing);
    // HOKKU_HOME goes before what was chosen.
    qputenv("HOKKU_HOME", f.path("home").toUtf8());
    CHECK(Fixture::find().data == f.path("home"));
    CHECK_FALSE(Fixture::find().isChoosable);
    qunsetenv("HOKKU_HOME");
}

TEST_CASE("SettingsPage: says where the library will be, and takes that back", "[gui][quick]") {
    Fixture f;
    Settings settings(f.folders.settingsFile);
    PresetLibrary presets(f.folders.presets(), settings);
    SettingsPage page(f.folders, settings, presets);
    page.chooseDataFolder(f.path("disk"));
    const auto remark = [&] { return page.findChild<QLabel*>(QStringLiteral("wantedFolder")); };
    REQUIRE(remark() != nullptr);
    CHECK(remark()->text().contains(f.path("disk")));
    page.findChild<QPushButton*>(QStringLiteral("keepFolderButton"))->click();
    QCoreApplication::processEvents();
    CHECK(remark() == nullptr);
    CHECK(DataFolder::wanted(f.folders).isEmpty());
    int notices = 0;
    QObject::connect(&page, &SettingsPage::noticed, &page, [&] { ++notices; });
    page.chooseDataFolder(f.folders.models);
    CHECK(notices == 1);
    CHECK(remark() == nullptr);
}
