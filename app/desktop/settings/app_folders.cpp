// SPDX-License-Identifier: Apache-2.0
#include "settings/app_folders.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace hokku::desktop {
namespace {

Result<void> make(const QString& folder) {
    if (QDir().mkpath(folder)) return {};
    return Error{ErrorCode::io, "a folder cannot be made", folder.toStdString(),
                 "a place where this program may write"};
}

}  // namespace

Result<AppFolders> AppFolders::find(bool portable) {
    AppFolders folders;
    const QString program = QCoreApplication::applicationDirPath();
    folders.isPortable = portable || QFileInfo::exists(program + QStringLiteral("/portable.ini"));
    if (folders.isPortable) {
        folders.data = program + QStringLiteral("/hokku-data");
        folders.settingsFile = folders.data + QStringLiteral("/hokku.ini");
        folders.cache = folders.data + QStringLiteral("/cache");
    } else {
        const QString home = qEnvironmentVariable("HOKKU_HOME");
        using Paths = QStandardPaths;
        folders.data = !home.isEmpty() ? home
                                       : Paths::writableLocation(Paths::GenericDataLocation) +
                                             QStringLiteral("/hokku");
        folders.settingsFile = !home.isEmpty()
                                   ? home + QStringLiteral("/hokku.ini")
                                   : Paths::writableLocation(Paths::GenericConfigLocation) +
                                         QStringLiteral("/hokku/hokku.ini");
        folders.cache =
            Paths::writableLocation(Paths::GenericCacheLocation) + QStringLiteral("/hokku");
    }
    folders.models = folders.data + QStringLiteral("/models");
    for (const QString& folder : {folders.data, folders.models, folders.presets()}) {
        if (Result<void> made = make(folder); !made.ok()) return made.error();
    }
    return folders;
}

}  // namespace hokku::desktop
