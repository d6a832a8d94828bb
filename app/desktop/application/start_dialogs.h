// SPDX-License-Identifier: Apache-2.0
// What a person sees before the window is there: that the data folder is being copied, what can be
// done when it is gone, and why the app cannot start.
#pragma once

#include "settings/app_folders.h"

namespace hokku::desktop {

/// Tells why the app cannot start; without a window where nobody would see it.
void tellFailure(const QString& text, bool isSelfTest);
/// That another Hokku runs and does not answer.
[[nodiscard]] QString silenceText();

/// Asks what to do while a folder that was chosen cannot be found; `folders` may then be the usual
/// ones. A portable one that cannot be made is told. False: the person gave up, or has to.
bool findMissingFolder(AppFolders& folders, bool isSelfTest);
/// Carries out the wish for another folder, if there is one, and shows how far that is. True:
/// `folders` are others now.
bool moveDataFolder(AppFolders& folders);

}  // namespace hokku::desktop
