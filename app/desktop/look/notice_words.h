// SPDX-License-Identifier: Apache-2.0
// What is shown for longer than a moment is a function, so that it can be asked for again when the
// language changes.
#pragma once

#include <QString>
#include <functional>

namespace hokku::desktop {

using NoticeWords = std::function<QString()>;

}  // namespace hokku::desktop
