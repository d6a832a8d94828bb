// SPDX-License-Identifier: Apache-2.0
// What a person sees of the data folder before the window is there: that it is being copied, and
// what can be done when it is gone.
#pragma once

#include "settings/app_folders.h"

namespace hokku::desktop {

/// Asks what to do while a folder that was chosen cannot be found; `folders` may then be the usual
/// ones. False: the person gave up.
bool findMissingFolder(AppFolders& folders);
/// Carries out the wish for another folder, if there is one, and shows how far that is. True:
/// `folders` are others now.
bool moveDataFolder(AppFolders& folders);

}  // namespace hokku::desktop
