// SPDX-License-Identifier: Apache-2.0
// What the chat view shows: the turns on the active path of a conversation, as plain data.
#pragma once

#include <QString>
#include <QStringList>
#include <QVector>

#include "conversations/chat_store.h"

namespace hokku::desktop {

struct Turn {
    MessageId id = 0;
    QString role;     ///< "user", "assistant", "system", "tool", "notice".
    QString content;  ///< Markdown of the model; plain text of people and notices.
    QString thought;
    qint64 thoughtMs = 0;  ///< How long the model thought; 0: not known.
    MessageState state = MessageState::complete;
    int version = 1, numVersions = 1;
    bool isCut = false;  ///< Ended at the longest length or for want of context: can go on.
    QStringList notes;   ///< What became of the context while it was written.
    QString details;     ///< "212 tokens · 98 tok/s · first token 0.1 s · ended".
    QString summary;     ///< Of the turns that were left out before it.
    QString error;       ///< Of a failed reply, for people.
};

}  // namespace hokku::desktop
