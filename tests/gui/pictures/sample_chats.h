// SPDX-License-Identifier: Apache-2.0
// Conversations that show what the app can do, for pictures of it.
#pragma once

#include "conversations/chat_store.h"

namespace hokku::testing {

/// Fills an empty store; the chat to be shown.
desktop::ChatId addSampleChats(desktop::ChatStore& store);
/// With a thought, turns that were left out and a summary of them.
desktop::ChatId addLongChat(desktop::ChatStore& store);
/// A conversation in Hebrew and Arabic, with code and a list.
desktop::ChatId addRightToLeftChat(desktop::ChatStore& store);

}  // namespace hokku::testing
