// SPDX-License-Identifier: Apache-2.0
// ChatStore: the conversations on disk, in one SQLite database. A chat is a tree of messages: the
// versions of a turn are siblings. What a person wrote is on the disk before the call returns.
#pragma once

#include <QDateTime>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QVariant>
#include <QVector>
#include <functional>
#include <memory>
#include <optional>

#include "hokku/result.h"
#include "look/notice_words.h"

namespace hokku::desktop {

using ChatId = qint64;     ///< 0: none.
using MessageId = qint64;  ///< 0: none.

struct ChatRecord {
    ChatId id = 0;
    QString title;      ///< Empty: the first line of the first message is shown.
    QString firstLine;  ///< Of the first message of a person.
    QString folder;     ///< Empty: in no folder.
    bool isPinned = false;
    QString modelPath;          ///< Empty: the model that is chosen for new chats.
    QString preset;             ///< Name of the preset; empty: the default one.
    QString systemPrompt;       ///< Null: that of the preset.
    QString draft;              ///< What was typed and not sent.
    double scrollPosition = 1;  ///< 0 the top, 1 the bottom.
    MessageId activeLeaf = 0;   ///< The path from the root to here is what is shown.
    QDateTime updated;
    [[nodiscard]] QString displayTitle() const { return title.isEmpty() ? firstLine : title; }
};

enum class MessageState { complete, streaming, stopped, failed };

struct MessageRecord {
    MessageId id = 0;
    ChatId chat = 0;
    MessageId parent = 0;  ///< 0: begins the chat.
    QString role;          ///< "user", "assistant", "system", "tool".
    QString content{}, thought{};
    MessageState state = MessageState::complete;
    QString statsJson{};  ///< Tokens, speed, stop reason, model; empty for people's messages.
    QDateTime created{};
};

struct SearchHit {
    ChatId chat = 0;
    MessageId message = 0;
    QString title;
    QString snippet;  ///< Plain text; matches lie between U+E000 and U+E001.
};

/// One store for the whole app. With an empty path it lives in memory (temporary chats, tests).
/// Where the file cannot be read or written, now or later, the store goes on in memory and says so
/// (noticed(), notice()); what changed meanwhile is stored as soon as that is possible.
///
/// Errors : io naming the file and what SQLite says. A row that cannot be read is left out, the
///          rest still opens.
/// Threads: the thread that opened it.
class ChatStore : public QObject {
    Q_OBJECT

  public:
    /// Opens or creates the database, after a backup migrates an older one.
    static Result<std::unique_ptr<ChatStore>> open(const QString& path);
    ~ChatStore() override;

    /// Whether everything is in the file.
    [[nodiscard]] bool isStored() const;
    /// What there is to say about the file; empty: nothing.
    [[nodiscard]] NoticeWords notice() const;

    [[nodiscard]] Result<QVector<ChatRecord>> chats() const;  ///< Pinned first, newest first.
    [[nodiscard]] Result<ChatRecord> chat(ChatId id) const;
    Result<ChatId> createChat(const ChatRecord& record);
    /// A chat with its messages, all of it or nothing. They get ids of their own, and so do the
    /// parents and the active leaf that name them; a parent comes before its children.
    Result<ChatId> addChat(const ChatRecord& record, const QVector<MessageRecord>& messages);
    Result<void> updateChat(const ChatRecord& record);  ///< All columns but id and updated.
    Result<void> deleteChat(ChatId id);                 ///< Can be undone until purge().
    Result<void> restoreChat(ChatId id);
    Result<void> purge();  ///< Removes what was deleted, for good.

    /// All messages of a chat that are not deleted, parents before children.
    [[nodiscard]] Result<QVector<MessageRecord>> messages(ChatId id) const;
    /// Committed with synchronous=FULL when it returns. Makes it the chat's active leaf.
    Result<MessageId> addMessage(const MessageRecord& record);
    /// Adds streamed text. Costs bytes in proportion to the text added, not to the message.
    Result<void> appendText(MessageId id, const QString& content, const QString& thought);
    /// Ends a streamed message: the whole text and what is known of it.
    Result<void> finishMessage(const MessageRecord& record);
    /// Hides a message and what follows it; can be undone until purge().
    Result<void> deleteMessage(MessageId id);
    Result<void> restoreMessage(MessageId id);
    Result<void> setActiveLeaf(ChatId chat, MessageId leaf);

    /// Full-text search in titles and messages; words are prefixes, quotes make a phrase. Never
    /// fails for what a person types.
    [[nodiscard]] Result<QVector<SearchHit>> search(const QString& query, int limit = 50) const;

  signals:
    void chatsChanged();
    /// The file cannot be written any more, or can be again.
    void noticed(const hokku::desktop::NoticeWords& words);

  private:
    ChatStore();
    Result<void> changeChats(const QString& sql, const QVariantList& values);
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
