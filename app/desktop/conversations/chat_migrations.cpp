// SPDX-License-Identifier: Apache-2.0
#include "conversations/chat_migrations.h"

namespace hokku::desktop {

/// Streamed text lies in message_pieces until the message is finished, so that what is written is
/// in proportion to the new text. Deleted rows are only marked until purge().
const QVector<Migration>& chatMigrations() {
    static const QVector<Migration> all{
        {
            QStringLiteral("CREATE TABLE chats ("
                           "id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT '', "
                           "first_line TEXT NOT NULL DEFAULT '', folder TEXT NOT NULL DEFAULT '', "
                           "pinned INTEGER NOT NULL DEFAULT 0, model TEXT NOT NULL DEFAULT '', "
                           "preset TEXT NOT NULL DEFAULT '', system_prompt TEXT, "
                           "draft TEXT NOT NULL DEFAULT '', scroll REAL NOT NULL DEFAULT 1, "
                           "active_leaf INTEGER NOT NULL DEFAULT 0, updated INTEGER NOT NULL, "
                           "deleted INTEGER NOT NULL DEFAULT 0)"),
            QStringLiteral("CREATE TABLE messages ("
                           "id INTEGER PRIMARY KEY AUTOINCREMENT, "
                           "chat INTEGER NOT NULL REFERENCES chats(id) ON DELETE CASCADE, "
                           "parent INTEGER NOT NULL DEFAULT 0, role TEXT NOT NULL, "
                           "content TEXT NOT NULL, thought TEXT NOT NULL DEFAULT '', "
                           "state INTEGER NOT NULL DEFAULT 0, stats TEXT NOT NULL DEFAULT '', "
                           "created INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0)"),
            QStringLiteral("CREATE INDEX messages_by_chat ON messages(chat, id)"),
            QStringLiteral("CREATE TABLE message_pieces (id INTEGER PRIMARY KEY AUTOINCREMENT, "
                           "message INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE, "
                           "content TEXT NOT NULL, thought TEXT NOT NULL)"),
            QStringLiteral("CREATE INDEX pieces_by_message ON message_pieces(message, id)"),
            QStringLiteral("CREATE VIRTUAL TABLE message_search USING fts5(content, "
                           "content='messages', content_rowid='id', "
                           "tokenize='unicode61 remove_diacritics 2')"),
            QStringLiteral("CREATE VIRTUAL TABLE title_search USING fts5(title, first_line, "
                           "content='chats', content_rowid='id', "
                           "tokenize='unicode61 remove_diacritics 2')"),
            QStringLiteral(
                "CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN "
                "INSERT INTO message_search(rowid, content) VALUES (new.id, new.content); "
                "END"),
            QStringLiteral("CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN "
                           "INSERT INTO message_search(message_search, rowid, content) "
                           "VALUES ('delete', old.id, old.content); END"),
            QStringLiteral(
                "CREATE TRIGGER message_changed AFTER UPDATE OF content ON messages BEGIN "
                "INSERT INTO message_search(message_search, rowid, content) "
                "VALUES ('delete', old.id, old.content); "
                "INSERT INTO message_search(rowid, content) VALUES (new.id, new.content); "
                "END"),
            QStringLiteral("CREATE TRIGGER chat_added AFTER INSERT ON chats BEGIN "
                           "INSERT INTO title_search(rowid, title, first_line) "
                           "VALUES (new.id, new.title, new.first_line); END"),
            QStringLiteral("CREATE TRIGGER chat_removed AFTER DELETE ON chats BEGIN "
                           "INSERT INTO title_search(title_search, rowid, title, first_line) "
                           "VALUES ('delete', old.id, old.title, old.first_line); END"),
            QStringLiteral("CREATE TRIGGER chat_changed AFTER UPDATE OF title, first_line ON chats "
                           "BEGIN INSERT INTO title_search(title_search, rowid, title, first_line) "
                           "VALUES ('delete', old.id, old.title, old.first_line); "
                           "INSERT INTO title_search(rowid, title, first_line) "
                           "VALUES (new.id, new.title, new.first_line); END"),
        },
        {
            // So that what was interrupted or deleted is found without reading all there is.
            QStringLiteral("CREATE INDEX messages_streaming ON messages(id) WHERE state=1"),
            QStringLiteral("CREATE INDEX messages_deleted ON messages(id) WHERE deleted=1"),
        }};
    return all;
}

}  // namespace hokku::desktop
