// SPDX-License-Identifier: Apache-2.0
#include "settings/settings.h"

#include <QFile>
#include <QTemporaryDir>
#include <limits>

#include "gui/support/catch_qt.h"

using namespace hokku::desktop;

TEST_CASE("Settings: numbers that a file should not have are the nearest ones allowed",
          "[gui][quick]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("settings.ini"));
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write("[General]\ncontext_tokens=99999999999\nthreads=-4\nfont_percent=4294967396\n");
    file.close();
    const Settings settings(path);
    CHECK(settings.contextTokens() == std::numeric_limits<int>::max());
    CHECK(settings.numThreads() == 0);
    CHECK(settings.fontPercent() == 200);
}

TEST_CASE("Settings: what is no number is as if it were not there", "[gui][quick]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("settings.ini"));
    QFile file(path);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write("[General]\ncontext_tokens=many\nfont_percent=\n");
    file.close();
    const Settings settings(path);
    CHECK(settings.contextTokens() == 0);
    CHECK(settings.numThreads() == 0);
    CHECK(settings.fontPercent() == 100);
}
