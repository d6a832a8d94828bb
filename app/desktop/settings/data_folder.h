// SPDX-License-Identifier: Apache-2.0
// The choice of the data folder: noted in the settings, carried out at the next start, before
// anything in it is open. What is copied is checked, and what lies in the old place stays there.
#pragma once

#include <QCoreApplication>
#include <QString>
#include <atomic>
#include <cstdint>

#include "settings/app_folders.h"

namespace hokku::desktop {

/// Read and set by two threads while files are copied.
struct CopyProgress {
    std::atomic<int64_t> doneBytes = 0;
    std::atomic<int64_t> totalBytes = 0;  ///< 0: not known yet.
    std::atomic<bool> isCancelled = false;
};

/// Needs  : folders whose data folder can be chosen (AppFolders::isChoosable).
/// Errors : functions that can fail return what is wrong, in the words of people; empty: nothing.
class DataFolder {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::DataFolder)

  public:
    /// The one in use from the next start on; empty: that of today.
    [[nodiscard]] static QString wanted(const AppFolders& folders);
    /// Notes `chosen` for the next start. In a folder that has other things in it, a folder "Hokku"
    /// is taken. One that holds a library is used as it is.
    static QString want(const AppFolders& folders, const QString& chosen);
    static void keepPresent(const AppFolders& folders);
    /// Whether conversations lie in `folder`.
    [[nodiscard]] static bool isLibrary(const QString& folder);

    /// Copies everything to the wanted folder, unless that has a library, checks the copies and
    /// makes it the data folder. When that fails everything stays as it was, and the wish is gone.
    /// Needs  : no open store.
    /// Threads: any; `progress` may be read on others.
    static QString carryOut(const AppFolders& folders, CopyProgress& progress);
    /// Goes back to the usual place, where the chosen one cannot be found.
    static void forget(const AppFolders& folders);

  private:
    static QString copyLibrary(const AppFolders& folders, const QString& to, CopyProgress& progress,
                               QStringList& made);
    static QString copyFile(const QString& from, const QString& to, CopyProgress& progress);
};

}  // namespace hokku::desktop
