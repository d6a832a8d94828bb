// SPDX-License-Identifier: Apache-2.0
// AppFolders: where the app keeps settings, conversations, presets and models: the XDG places, or
// one folder beside the program in portable mode.
#pragma once

#include <QString>

#include "hokku/result.h"

namespace hokku::desktop {

struct AppFolders {
    QString settingsFile;  ///< INI.
    QString data;          ///< Conversations, presets; backed up by people.
    QString models;        ///< The model library.
    QString cache;         ///< May be deleted at any time.
    bool isPortable = false;
    bool isChoosable = false;  ///< The data folder may be another one (DataFolder).
    bool isMissing = false;    ///< The data folder that was chosen cannot be found, or a portable
                               ///< one neither be found nor made.

    static constexpr char kDataFolderKey[] = "data_folder";  ///< Of the settings file.

    [[nodiscard]] QString chatsFile() const { return data + QStringLiteral("/chats.sqlite"); }
    [[nodiscard]] QString presets() const { return data + QStringLiteral("/presets"); }

    /// `portable`, or a file portable.ini beside the program, keeps everything in
    /// PROGRAM_FOLDER/hokku-data; otherwise HOKKU_HOME is the data folder, or the one that was
    /// chosen in the settings. Makes the folders where that can be, but never a chosen one.
    /// Errors : io where the system has no place for them.
    static Result<AppFolders> find(bool portable);
};

}  // namespace hokku::desktop
