// SPDX-License-Identifier: Apache-2.0
// Conversations as files: Markdown and plain text of what is shown, JSON of everything, and back.
#pragma once

#include <QByteArray>
#include <QString>
#include <QVector>
#include <optional>

#include "conversations/chat_store.h"

namespace hokku::desktop {

/// Larger files are no conversations.
inline constexpr qint64 kMostImportBytes = 64 << 20;

enum class ExportFormat { markdown, text, json };

/// `messages` as ChatStore::messages() gives them. Markdown and text hold the path to the active
/// leaf; JSON holds all versions.
QByteArray exportChat(const ChatRecord& chat, const QVector<MessageRecord>& messages,
                      ExportFormat format);
/// A file name made from the title, valid on every file system, with the format's ending.
QString exportName(const ChatRecord& chat, ExportFormat format);

/// UTF-8, or what the mark at the beginning says; nothing for what is no text.
std::optional<QString> decodeText(const QByteArray& content);

/// Adds the chat of a JSON export, or a Markdown or text file as one message, to the store: all of
/// it or nothing.
/// Errors : bad_format naming what is wrong; io.
Result<ChatId> importChat(ChatStore& store, const QByteArray& content, const QString& fileName);

}  // namespace hokku::desktop
