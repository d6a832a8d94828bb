// SPDX-License-Identifier: Apache-2.0
// The tables of the conversations, step by step as they came to be. A step that has been in a
// release is never changed: what it did is in people's files.
#pragma once

#include "conversations/database.h"

namespace hokku::desktop {

const QVector<Migration>& chatMigrations();

}  // namespace hokku::desktop
