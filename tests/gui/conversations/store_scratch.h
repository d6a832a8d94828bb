// SPDX-License-Identifier: Apache-2.0
// A place for a database of conversations, and short ways to fill it.
#pragma once

#include <QTemporaryDir>

#include "conversations/chat_store.h"
#include "conversations/database.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

namespace hokku::testing {

inline std::unique_ptr<desktop::ChatStore> openStore(const QString& path) {
    application();
    auto store = desktop::ChatStore::open(path);
    REQUIRE(store.ok());
    return std::move(*store);
}

inline desktop::ChatId addChat(desktop::ChatStore& store, const QString& firstLine) {
    desktop::ChatRecord record;
    record.firstLine = firstLine;
    const auto id = store.createChat(record);
    REQUIRE(id.ok());
    return *id;
}

inline desktop::MessageId addMessage(
    desktop::ChatStore& store, desktop::ChatId chat, desktop::MessageId parent, const QString& role,
    const QString& content, desktop::MessageState state = desktop::MessageState::complete) {
    desktop::MessageRecord record;
    record.chat = chat;
    record.parent = parent;
    record.role = role;
    record.content = content;
    record.state = state;
    const auto id = store.addMessage(record);
    REQUIRE(id.ok());
    return *id;
}

inline const QString kUser = QStringLiteral("user"), kAssistant = QStringLiteral("assistant");

/// A folder and the path of a database in it.
struct Scratch {
    QTemporaryDir folder;
    [[nodiscard]] QString path() const { return folder.filePath(QStringLiteral("chäts.sqlite")); }
};

inline void runSql(const QString& path, const QStringList& statements) {
    auto database = desktop::Database::open(path, desktop::Database::Access::readWrite);
    REQUIRE(database.ok());
    for (const QString& statement : statements) {
        const auto done = (*database)->run(statement);
        INFO(statement.toStdString());
        REQUIRE(done.ok());
    }
}

}  // namespace hokku::testing
