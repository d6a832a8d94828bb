// SPDX-License-Identifier: Apache-2.0
// Conversations that show what the app can do, for pictures of it.
#pragma once

#include "conversations/chat_store.h"

namespace hokku::testing {

/// Those that are to be opened.
struct SampleChats {
    desktop::ChatId poem = 0;
    desktop::ChatId code = 0;  ///< With a thought.
};
/// Fills an empty store.
SampleChats addSampleChats(desktop::ChatStore& store);
/// With a thought, turns that were left out and a summary of them.
desktop::ChatId addLongChat(desktop::ChatStore& store);
/// A conversation in Hebrew and Arabic, with code and a list.
desktop::ChatId addRightToLeftChat(desktop::ChatStore& store);

}  // namespace hokku::testing
