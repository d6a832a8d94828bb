// SPDX-License-Identifier: Apache-2.0
#include "settings/app_folders.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QSettings>
#include <QStandardPaths>

namespace hokku::desktop {

namespace {

QString chosenIn(const QString& settingsFile) {
    return QSettings(settingsFile, QSettings::IniFormat)
        .value(QLatin1String(AppFolders::kDataFolderKey))
        .toString();
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
        folders.isChoosable = home.isEmpty();
        const QString chosen = folders.isChoosable ? chosenIn(folders.settingsFile) : QString();
        if (!chosen.isEmpty()) folders.data = chosen;
        folders.isMissing = !chosen.isEmpty() && !QFileInfo(chosen).isDir();
        folders.cache =
            Paths::writableLocation(Paths::GenericCacheLocation) + QStringLiteral("/hokku");
    }
    folders.models = folders.data + QStringLiteral("/models");
    if (folders.data.isEmpty())
        return Error{ErrorCode::io, "this system has no place for the files of programs", "",
                     "HOME"};
    if (folders.isMissing) return folders;
    // One that cannot be made is no reason not to start: whoever writes there says so.
    for (const QString& folder : {folders.data, folders.models, folders.presets()})
        QDir().mkpath(folder);
    folders.isMissing = folders.isPortable && !QFileInfo(folders.data).isDir();
    return folders;
}

}  // namespace hokku::desktop
