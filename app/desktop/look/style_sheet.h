// SPDX-License-Identifier: Apache-2.0
// The style sheet of the app: shapes of the controls in the colours of a theme.
#pragma once

#include <QString>

#include "look/theme.h"

namespace hokku::desktop {

QString styleSheet(const Colors& colors);

}  // namespace hokku::desktop
