// SPDX-License-Identifier: Apache-2.0
// Conversations as files: Markdown and plain text of what is shown, JSON of everything, and back.
#pragma once

#include <QByteArray>
#include <QString>
#include <QVector>

#include "conversations/chat_store.h"

namespace hokku::desktop {

enum class ExportFormat { markdown, text, json };

/// `messages` as ChatStore::messages() gives them. Markdown and text hold the path to the active
/// leaf; JSON holds all versions.
QByteArray exportChat(const ChatRecord& chat, const QVector<MessageRecord>& messages,
                      ExportFormat format);
/// A file name made from the title, valid on every file system, with the format's ending.
QString exportName(const ChatRecord& chat, ExportFormat format);

/// Adds the chat of a JSON export, or a Markdown or text file as one message, to the store.
/// Errors : bad_format naming what is wrong; io.
Result<ChatId> importChat(ChatStore& store, const QByteArray& content, const QString& fileName);

}  // namespace hokku::desktop
