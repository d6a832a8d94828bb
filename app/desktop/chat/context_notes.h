// SPDX-License-Identifier: Apache-2.0
// What became of the context while a reply was written, in words for the conversation.
#pragma once

#include <QStringList>

#include "chat/message_tree.h"
#include "chat/reply_facts.h"

namespace hokku::desktop {

/// Names the turns that were left out; says how long the context has become.
QStringList contextNotes(const ReplyFacts& facts, const MessageTree& messages);

/// The first line of a text, made short: by it people know a message again.
QString firstLineOf(const QString& text);

}  // namespace hokku::desktop
