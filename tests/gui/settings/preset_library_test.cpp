// SPDX-License-Identifier: Apache-2.0
#include "settings/preset_library.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Fixture {
    QApplication& app = application();
    QTemporaryDir folder;
    Settings settings{folder.filePath(QStringLiteral("settings.ini"))};
    PresetLibrary library{folder.path(), settings};

    void write(const char* name, const char* content) {
        QFile file(folder.filePath(QLatin1String(name)));
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write(content);
    }
};

}  // namespace

TEST_CASE("PresetLibrary: built-in presets are always there, and one is the default",
          "[gui][quick]") {
    Fixture f;
    REQUIRE(f.library.presets().size() == 3);
    CHECK(f.library.defaultKey() == QStringLiteral(":standard"));
    CHECK(f.library.preset(QStringLiteral("no such")).key == QStringLiteral(":standard"));
    QSignalSpy changed(&f.library, &PresetLibrary::defaultChanged);
    f.library.setDefault(QStringLiteral(":verse"));
    CHECK(changed.size() == 1);
    const PresetLibrary again(f.folder.path(), f.settings);
    CHECK(again.defaultKey() == QStringLiteral(":verse"));
}

TEST_CASE("PresetLibrary: changes hold at once, and for good when they are saved", "[gui][quick]") {
    Fixture f;
    QSignalSpy changed(&f.library, &PresetLibrary::presetChanged);
    Preset preset = f.library.preset(QStringLiteral(":precise"));
    preset.sampling.top_k = 7;
    f.library.change(preset);
    REQUIRE(changed.size() == 1);
    CHECK(f.library.preset(QStringLiteral(":precise")).sampling.top_k == 7);
    f.library.reread();  // also through a change of language
    CHECK(f.library.preset(QStringLiteral(":precise")).sampling.top_k == 7);
    CHECK(PresetLibrary(f.folder.path(), f.settings)
              .preset(QStringLiteral(":precise"))
              .sampling.top_k == 40);

    preset.name = QStringLiteral("Seven");
    const Result<QString> key = f.library.save(preset);
    REQUIRE(key.ok());
    CHECK(*key == QStringLiteral("Seven"));
    CHECK(f.library.preset(QStringLiteral(":precise")).sampling.top_k == 40);
    CHECK(f.library.preset(*key).sampling.top_k == 7);
    CHECK(PresetLibrary(f.folder.path(), f.settings).preset(*key).sampling.top_k == 7);
    REQUIRE(f.library.remove(*key).ok());
    CHECK_FALSE(f.library.contains(*key));
}

TEST_CASE("PresetLibrary: a broken file is named and keeps no other from opening", "[gui][quick]") {
    Fixture f;
    f.write("broken.json", "{");
    f.write("good.json", R"({"name": "Good", "temperature": 0.5})");
    f.library.reread();
    CHECK(f.library.contains(QStringLiteral("Good")));
    REQUIRE(f.library.problems().size() == 1);
    CHECK(f.library.problems().first()().contains(QStringLiteral("broken.json")));
    CHECK_FALSE(f.library.import(f.folder.filePath(QStringLiteral("broken.json"))).ok());
    CHECK_FALSE(f.library.import(f.folder.filePath(QStringLiteral("absent.json"))).ok());
}
