// SPDX-License-Identifier: Apache-2.0
// Character references of HTML in Markdown: numeric ones and the names that people write.
#pragma once

#include <QString>

namespace hokku::desktop {

/// "&amp;" as "&"; one that is not known as it is.
[[nodiscard]] QString decodeEntity(const QString& entity);

}  // namespace hokku::desktop
