// SPDX-License-Identifier: Apache-2.0
// The app's folders in a home of the test's own.
#pragma once

#include <QDir>
#include <QTemporaryDir>

#include "settings/app_folders.h"
#include "support/catch.h"

namespace hokku::testing {

class UsualPlaces {
  public:
    UsualPlaces() {
        qunsetenv("HOKKU_HOME");
        qputenv("XDG_DATA_HOME", path("data").toUtf8());
        qputenv("XDG_CONFIG_HOME", path("config").toUtf8());
    }
    ~UsualPlaces() {
        qunsetenv("XDG_DATA_HOME");
        qunsetenv("XDG_CONFIG_HOME");
    }
    UsualPlaces(const UsualPlaces&) = delete;
    UsualPlaces& operator=(const UsualPlaces&) = delete;
    [[nodiscard]] QString path(const char* name) const {
        return QDir(m_home.path()).canonicalPath() + QLatin1Char('/') + QString::fromUtf8(name);
    }
    static desktop::AppFolders find() {
        const auto found = desktop::AppFolders::find(false);
        REQUIRE(found.ok());
        return *found;
    }

  private:
    QTemporaryDir m_home;
};

}  // namespace hokku::testing
