// SPDX-License-Identifier: Apache-2.0
#include "conversations/chat_store.h"

#include <QHash>
#include <QSqlQuery>
#include <QTimer>

#include "conversations/chat_file.h"
#include "conversations/search_query.h"

namespace hokku::desktop {
namespace {

const QString kChatValues = QStringLiteral(
    "title, first_line, folder, pinned, model, preset, system_prompt, draft, scroll, active_leaf");
const QString kChatColumns = QStringLiteral("id, %1, updated").arg(kChatValues);
const QString kMessageColumns =
    QStringLiteral("id, chat, parent, role, content, thought, state, stats, created");

/// How soon it is tried to store what is in memory only; seldomer while that fails.
constexpr int kRetryMs = 10'000, kMostRetryMs = 300'000;

qint64 now() {
    return QDateTime::currentMSecsSinceEpoch();
}

/// NOT NULL columns take an empty text for a null QString.
QString present(const QString& text) {
    return text.isNull() ? QStringLiteral("") : text;
}

/// In the order of kChatValues.
QVariantList valuesOf(const ChatRecord& record) {
    return {present(record.title), present(record.firstLine), present(record.folder),
            record.isPinned,       present(record.modelPath), present(record.preset),
            record.systemPrompt,   present(record.draft),     record.scrollPosition,
            record.activeLeaf};
}

ChatRecord readChat(const QSqlQuery& row) {
    ChatRecord chat;
    chat.id = row.value(0).toLongLong();
    chat.title = row.value(1).toString();
    chat.firstLine = row.value(2).toString();
    chat.folder = row.value(3).toString();
    chat.isPinned = row.value(4).toBool();
    chat.modelPath = row.value(5).toString();
    chat.preset = row.value(6).toString();
    chat.systemPrompt = row.value(7).isNull() ? QString() : row.value(7).toString();
    chat.draft = row.value(8).toString();
    chat.scrollPosition = row.value(9).toDouble();
    chat.activeLeaf = row.value(10).toLongLong();
    chat.updated = QDateTime::fromMSecsSinceEpoch(row.value(11).toLongLong(), Qt::UTC);
    return chat;
}

/// Nothing for a row that makes no sense: what is left of a damaged file must still open.
std::optional<MessageRecord> readMessage(const QSqlQuery& row) {
    MessageRecord message;
    message.id = row.value(0).toLongLong();
    message.chat = row.value(1).toLongLong();
    message.parent = row.value(2).toLongLong();
    message.role = row.value(3).toString();
    message.content = row.value(4).toString();
    message.thought = row.value(5).toString();
    const int state = row.value(6).toInt();
    message.statsJson = row.value(7).toString();
    message.created = QDateTime::fromMSecsSinceEpoch(row.value(8).toLongLong(), Qt::UTC);
    const bool isKnownState = state >= static_cast<int>(MessageState::complete) &&
                              state <= static_cast<int>(MessageState::failed);
    if (message.role.isEmpty() || message.parent >= message.id || !isKnownState)
        return std::nullopt;
    message.state = static_cast<MessageState>(state);
    return message;
}

}  // namespace

struct ChatStore::Private {
    [[nodiscard]] const Database& database() const { return file->database(); }
    Result<void> run(const QString& sql, const QVariantList& values) const {
        Result<QSqlQuery> done = database().run(sql, values);
        if (!done.ok()) return done.error();
        return {};
    }
    Result<void> changeBy(const QString& sql, const QVariantList& values) {
        return file->change([&] { return run(sql, values); });
    }
    Result<void> touch(ChatId chat) const {
        return run(QStringLiteral("UPDATE chats SET updated=? WHERE id=?"), {now(), chat});
    }
    Result<ChatId> insertChat(const ChatRecord& record) const;
    Result<MessageId> insertMessage(const MessageRecord& record) const;
    Result<void> finishInterrupted();

    std::unique_ptr<ChatFile> file;
    QTimer retry;  ///< While there is something that the file does not have.
};

ChatStore::ChatStore() : m_private(std::make_unique<Private>()) {}
ChatStore::~ChatStore() = default;

Result<std::unique_ptr<ChatStore>> ChatStore::open(const QString& path) {
    std::unique_ptr<ChatStore> store(new ChatStore);
    Private& self = *store->m_private;
    auto file = ChatFile::open(path);
    if (!file.ok()) return file.error();
    self.file = std::move(*file);
    if (Result<void> done = self.finishInterrupted(); !done.ok()) return done.error();
    if (Result<void> purged = store->purge(); !purged.ok()) return purged.error();
    connect(&self.retry, &QTimer::timeout, store.get(), [&self] {
        if (self.file->tryToStore()) return self.retry.stop();
        self.retry.setInterval(qMin(2 * self.retry.interval(), kMostRetryMs));
    });
    if (self.file->isInMemory() && !path.isEmpty()) self.retry.start(kRetryMs);
    self.file->onNotice = [raw = store.get(), &self](const NoticeWords& words) {
        if (self.file->isInMemory()) self.retry.start(kRetryMs);
        emit raw->noticed(words);
    };
    return store;
}

/// Replies that were being written when the program ended: their pieces become their text.
Result<void> ChatStore::Private::finishInterrupted() {
    return file->change([this]() -> Result<void> {
        const QString joined = QStringLiteral(
            "(SELECT coalesce(group_concat(%1, ''), '') FROM "
            "(SELECT %1 FROM message_pieces WHERE message=messages.id ORDER BY id))");
        // Numbers and not parameters, so that the index of such rows is used.
        Result<void> merged = run(
            QStringLiteral("UPDATE messages SET content=content||%1, thought=thought||%2, "
                           "state=%3 WHERE state=%4")
                .arg(joined.arg(QStringLiteral("content")), joined.arg(QStringLiteral("thought")))
                .arg(static_cast<int>(MessageState::stopped))
                .arg(static_cast<int>(MessageState::streaming)),
            {});
        if (!merged.ok()) return merged;
        return run(QStringLiteral("DELETE FROM message_pieces"), {});
    });
}

bool ChatStore::isStored() const {
    return !m_private->file->isInMemory();
}
NoticeWords ChatStore::notice() const {
    return m_private->file->notice();
}

// ---- chats
// ---------------------------------------------------------------------------------------

Result<QVector<ChatRecord>> ChatStore::chats() const {
    Result<QSqlQuery> rows = m_private->database().run(
        QStringLiteral("SELECT %1 FROM chats WHERE deleted=0 ORDER BY pinned DESC, updated DESC, "
                       "id DESC")
            .arg(kChatColumns));
    if (!rows.ok()) return rows.error();
    QVector<ChatRecord> chats;
    while (rows->next()) chats.append(readChat(*rows));
    return chats;
}

Result<ChatRecord> ChatStore::chat(ChatId id) const {
    Result<QSqlQuery> rows = m_private->database().run(
        QStringLiteral("SELECT %1 FROM chats WHERE id=? AND deleted=0").arg(kChatColumns), {id});
    if (!rows.ok()) return rows.error();
    if (rows->next()) return readChat(*rows);
    return Error{ErrorCode::bad_argument, "there is no such conversation", std::to_string(id), ""};
}

Result<ChatId> ChatStore::Private::insertChat(const ChatRecord& record) const {
    Result<QSqlQuery> added = database().run(
        QStringLiteral("INSERT INTO chats (%1, updated) VALUES (?,?,?,?,?,?,?,?,?,?,?)")
            .arg(kChatValues),
        valuesOf(record) << now());
    if (!added.ok()) return added.error();
    return added->lastInsertId().toLongLong();
}

Result<ChatId> ChatStore::createChat(const ChatRecord& record) {
    return addChat(record, {});
}

Result<ChatId> ChatStore::addChat(const ChatRecord& record,
                                  const QVector<MessageRecord>& messages) {
    ChatId id = 0;
    Result<void> done = m_private->file->change([&]() -> Result<void> {
        Result<ChatId> chat = m_private->insertChat(record);
        if (!chat.ok()) return chat.error();
        id = *chat;
        if (messages.isEmpty()) return {};
        QHash<MessageId, MessageId> newIds;
        MessageId last = 0;
        for (MessageRecord message : messages) {
            message.chat = id;
            message.parent = newIds.value(message.parent);
            const Result<MessageId> added = m_private->insertMessage(message);
            if (!added.ok()) return added.error();
            last = *added;
            newIds.insert(message.id, last);
        }
        return m_private->run(QStringLiteral("UPDATE chats SET active_leaf=? WHERE id=?"),
                              {newIds.value(record.activeLeaf, last), id});
    });
    if (!done.ok()) return done.error();
    emit chatsChanged();
    return id;
}

Result<void> ChatStore::updateChat(const ChatRecord& record) {
    return changeChats(
        QStringLiteral("UPDATE chats SET (%1) = (?,?,?,?,?,?,?,?,?,?) WHERE id=?").arg(kChatValues),
        valuesOf(record) << record.id);
}

Result<void> ChatStore::deleteChat(ChatId id) {
    return changeChats(QStringLiteral("UPDATE chats SET deleted=1 WHERE id=?"), {id});
}

Result<void> ChatStore::restoreChat(ChatId id) {
    return changeChats(QStringLiteral("UPDATE chats SET deleted=0 WHERE id=?"), {id});
}

Result<void> ChatStore::changeChats(const QString& sql, const QVariantList& values) {
    Result<void> done = m_private->changeBy(sql, values);
    if (done.ok()) emit chatsChanged();
    return done;
}

Result<void> ChatStore::purge() {
    return m_private->file->change([&]() -> Result<void> {
        Result<void> chats =
            m_private->run(QStringLiteral("DELETE FROM chats WHERE deleted=1"), {});
        if (!chats.ok()) return chats;
        return m_private->run(QStringLiteral("DELETE FROM messages WHERE deleted=1"), {});
    });
}

// ---- messages
// ------------------------------------------------------------------------------------

Result<QVector<MessageRecord>> ChatStore::messages(ChatId id) const {
    Result<QSqlQuery> rows = m_private->database().run(
        QStringLiteral("SELECT %1 FROM messages WHERE chat=? AND deleted=0 ORDER BY id")
            .arg(kMessageColumns),
        {id});
    if (!rows.ok()) return rows.error();
    QVector<MessageRecord> messages;
    while (rows->next()) {
        if (const std::optional<MessageRecord> message = readMessage(*rows))
            messages.append(*message);
    }
    return messages;
}

Result<MessageId> ChatStore::Private::insertMessage(const MessageRecord& record) const {
    Result<QSqlQuery> added = database().run(
        QStringLiteral("INSERT INTO messages (chat, parent, role, content, thought, state, "
                       "stats, created) VALUES (?,?,?,?,?,?,?,?)"),
        {record.chat, record.parent, record.role, present(record.content), present(record.thought),
         static_cast<int>(record.state), present(record.statsJson), now()});
    if (!added.ok()) return added.error();
    return added->lastInsertId().toLongLong();
}

Result<MessageId> ChatStore::addMessage(const MessageRecord& record) {
    MessageId id = 0;
    Result<void> done = m_private->file->change([&]() -> Result<void> {
        Result<MessageId> added = m_private->insertMessage(record);
        if (!added.ok()) return added.error();
        id = *added;
        return m_private->run(
            QStringLiteral("UPDATE chats SET active_leaf=?, updated=? WHERE id=?"),
            {id, now(), record.chat});
    });
    if (!done.ok()) return done.error();
    emit chatsChanged();
    return id;
}

Result<void> ChatStore::appendText(MessageId id, const QString& content, const QString& thought) {
    return m_private->changeBy(
        QStringLiteral("INSERT INTO message_pieces (message, content, thought) VALUES (?,?,?)"),
        {id, present(content), present(thought)});
}

Result<void> ChatStore::finishMessage(const MessageRecord& record) {
    return m_private->file->change([&]() -> Result<void> {
        Result<void> updated = m_private->run(
            QStringLiteral("UPDATE messages SET content=?, thought=?, state=?, stats=? WHERE id=?"),
            {present(record.content), present(record.thought), static_cast<int>(record.state),
             present(record.statsJson), record.id});
        if (!updated.ok()) return updated;
        Result<void> cleared = m_private->run(
            QStringLiteral("DELETE FROM message_pieces WHERE message=?"), {record.id});
        if (!cleared.ok()) return cleared;
        return m_private->touch(record.chat);
    });
}

Result<void> ChatStore::deleteMessage(MessageId id) {
    return m_private->changeBy(QStringLiteral("UPDATE messages SET deleted=1 WHERE id=?"), {id});
}

Result<void> ChatStore::restoreMessage(MessageId id) {
    return m_private->changeBy(QStringLiteral("UPDATE messages SET deleted=0 WHERE id=?"), {id});
}

Result<void> ChatStore::setActiveLeaf(ChatId chat, MessageId leaf) {
    return m_private->changeBy(QStringLiteral("UPDATE chats SET active_leaf=? WHERE id=?"),
                               {leaf, chat});
}

// ---- search
// --------------------------------------------------------------------------------------

Result<QVector<SearchHit>> ChatStore::search(const QString& query, int limit) const {
    QVector<SearchHit> hits;
    const SearchQuery parsed = parseSearch(query);
    if (parsed.isEmpty()) return hits;
    const auto collect = [&](const QString& sql, const QVariantList& values) -> Result<void> {
        Result<QSqlQuery> rows = m_private->database().run(sql, values);
        if (!rows.ok()) return rows.error();
        while (rows->next()) {
            SearchHit hit;
            hit.chat = rows->value(0).toLongLong();
            hit.message = rows->value(1).toLongLong();
            const QString title = rows->value(2).toString();
            hit.title = title.isEmpty() ? rows->value(3).toString() : title;
            hit.snippet = parsed.mark(rows->value(4).toString());
            hits.append(hit);
        }
        return {};
    };
    const QString chatColumns = QStringLiteral("chats.title, chats.first_line");
    if (parsed.isSubstring) {
        // Scripts without spaces have no words that FTS5 could find.
        Result<void> done = collect(
            QStringLiteral("SELECT chats.id, messages.id, %1, messages.content FROM messages "
                           "JOIN chats ON chats.id=messages.chat WHERE messages.deleted=0 AND "
                           "chats.deleted=0 AND messages.content LIKE ? ESCAPE '\\' "
                           "ORDER BY messages.id DESC LIMIT ?")
                .arg(chatColumns),
            {parsed.likePattern, limit});
        if (!done.ok()) return done.error();
        return hits;
    }
    Result<void> titles = collect(
        QStringLiteral("SELECT chats.id, 0, %1, chats.first_line FROM title_search "
                       "JOIN chats ON chats.id=title_search.rowid WHERE title_search MATCH ? AND "
                       "chats.deleted=0 ORDER BY rank LIMIT ?")
            .arg(chatColumns),
        {parsed.match, limit});
    if (!titles.ok()) return titles.error();
    Result<void> texts = collect(
        QStringLiteral("SELECT chats.id, messages.id, %1, "
                       "snippet(message_search, 0, '', '', '…', 16) FROM message_search "
                       "JOIN messages ON messages.id=message_search.rowid "
                       "JOIN chats ON chats.id=messages.chat WHERE message_search MATCH ? AND "
                       "messages.deleted=0 AND chats.deleted=0 ORDER BY rank LIMIT ?")
            .arg(chatColumns),
        {parsed.match, limit});
    if (!texts.ok()) return texts.error();
    return hits;
}

}  // namespace hokku::desktop
