// SPDX-License-Identifier: Apache-2.0
#include "conversations/chat_store.h"

#include <sys/resource.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <csignal>

#include "conversations/database.h"
#include "gui/support/application.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::desktop;

namespace {

std::unique_ptr<ChatStore> openStore(const QString& path) {
    testing::application();
    auto store = ChatStore::open(path);
    REQUIRE(store.ok());
    return std::move(*store);
}

ChatId addChat(ChatStore& store, const QString& firstLine) {
    ChatRecord record;
    record.firstLine = firstLine;
    const auto id = store.createChat(record);
    REQUIRE(id.ok());
    return *id;
}

MessageId addMessage(ChatStore& store, ChatId chat, MessageId parent, const QString& role,
                     const QString& content, MessageState state = MessageState::complete) {
    MessageRecord record;
    record.chat = chat;
    record.parent = parent;
    record.role = role;
    record.content = content;
    record.state = state;
    const auto id = store.addMessage(record);
    REQUIRE(id.ok());
    return *id;
}

const QString kUser = QStringLiteral("user"), kAssistant = QStringLiteral("assistant");

/// A folder and the path of a database in it.
struct Scratch {
    QTemporaryDir folder;
    [[nodiscard]] QString path() const { return folder.filePath(QStringLiteral("chäts.sqlite")); }
};

void runSql(const QString& path, const QStringList& statements) {
    auto database = Database::open(path, Database::Access::readWrite);
    REQUIRE(database.ok());
    for (const QString& statement : statements) {
        const auto done = (*database)->run(statement);
        INFO(statement.toStdString());
        REQUIRE(done.ok());
    }
}

}  // namespace

TEST_CASE("ChatStore: a chat and its tree of messages come back as they were", "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    MessageId question = 0, second = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("Old pond"));
        question = addMessage(*store, chat, 0, kUser, QStringLiteral("Write 古池 🐸"));
        addMessage(*store, chat, question, kAssistant, QStringLiteral("first"));
        second = addMessage(*store, chat, question, kAssistant, QStringLiteral("second"));
        auto record = store->chat(chat);
        REQUIRE(record.ok());
        CHECK(record->activeLeaf == second);
        record->title = QStringLiteral("My title");
        record->draft = QStringLiteral("half a thou");
        record->scrollPosition = 0.25;
        record->isPinned = true;
        record->systemPrompt = QStringLiteral("");
        REQUIRE(store->updateChat(*record).ok());
    }
    auto store = openStore(scratch.path());
    const auto chats = store->chats();
    REQUIRE(chats.ok());
    REQUIRE(chats->size() == 1);
    const ChatRecord& record = chats->first();
    CHECK(record.displayTitle() == QStringLiteral("My title"));
    CHECK(record.draft == QStringLiteral("half a thou"));
    CHECK(record.scrollPosition == 0.25);
    CHECK(record.isPinned);
    const auto messages = store->messages(chat);
    REQUIRE(messages.ok());
    REQUIRE(messages->size() == 3);
    CHECK(messages->at(0).content == QStringLiteral("Write 古池 🐸"));
    CHECK(messages->at(1).parent == question);
    CHECK(messages->at(2).parent == question);
}

TEST_CASE("ChatStore: pinned chats come first, then those written to last", "[gui][quick]") {
    auto store = openStore({});
    const ChatId a = addChat(*store, QStringLiteral("a"));
    const ChatId b = addChat(*store, QStringLiteral("b"));
    const ChatId c = addChat(*store, QStringLiteral("c"));
    auto record = store->chat(a);
    record->isPinned = true;
    REQUIRE(store->updateChat(*record).ok());
    const auto chats = store->chats();
    REQUIRE(chats->size() == 3);
    CHECK(chats->at(0).id == a);
    CHECK(chats->at(1).id == c);
    CHECK(chats->at(2).id == b);
}

TEST_CASE("ChatStore: a reply that was cut off keeps what was streamed", "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("x"));
        const MessageId user = addMessage(*store, chat, 0, kUser, QStringLiteral("x"));
        const MessageId reply =
            addMessage(*store, chat, user, kAssistant, {}, MessageState::streaming);
        for (int i = 0; i < 12; ++i)
            REQUIRE(
                store->appendText(reply, QStringLiteral("%1,").arg(i), QStringLiteral("t")).ok());
    }
    auto store = openStore(scratch.path());
    const auto messages = store->messages(chat);
    REQUIRE(messages->size() == 2);
    CHECK(messages->at(1).content == QStringLiteral("0,1,2,3,4,5,6,7,8,9,10,11,"));
    CHECK(messages->at(1).thought == QString(12, QLatin1Char('t')));
    CHECK(messages->at(1).state == MessageState::stopped);
}

TEST_CASE("ChatStore: storing streamed text writes in proportion to it", "[gui][quick]") {
    const Scratch scratch;
    auto store = openStore(scratch.path());
    const ChatId chat = addChat(*store, QStringLiteral("x"));
    const MessageId reply = addMessage(*store, chat, 0, kAssistant, {}, MessageState::streaming);
    constexpr int kPieces = 400, kPieceBytes = 2000;
    for (int i = 0; i < kPieces; ++i)
        REQUIRE(store->appendText(reply, QString(kPieceBytes, QLatin1Char('a')), {}).ok());
    // Rewriting the message each time would have written 160 MB.
    qint64 written = 0;
    for (const QFileInfo& file : QDir(scratch.folder.path()).entryInfoList(QDir::Files))
        written += file.size();
    CHECK(written < qint64{10} * kPieces * kPieceBytes);
}

TEST_CASE("ChatStore: what was deleted comes back until it is purged", "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("x"));
        const MessageId message = addMessage(*store, chat, 0, kUser, QStringLiteral("hello"));
        REQUIRE(store->deleteMessage(message).ok());
        CHECK(store->messages(chat)->isEmpty());
        CHECK(store->search(QStringLiteral("hello"))->isEmpty());
        REQUIRE(store->restoreMessage(message).ok());
        CHECK(store->messages(chat)->size() == 1);
        REQUIRE(store->deleteChat(chat).ok());
        CHECK(store->chats()->isEmpty());
        REQUIRE(store->restoreChat(chat).ok());
        CHECK(store->chats()->size() == 1);
        REQUIRE(store->deleteChat(chat).ok());
    }
    auto store = openStore(scratch.path());  // opening purges
    REQUIRE(store->restoreChat(chat).ok());
    CHECK(store->chats()->isEmpty());
}

TEST_CASE("ChatStore: finds words by their beginning, phrases and CJK", "[gui][quick]") {
    auto store = openStore({});
    const ChatId chat = addChat(*store, QStringLiteral("Frogs"));
    const MessageId english = addMessage(*store, chat, 0, kUser,
                                         QStringLiteral("The old pond, a frog jumps in: Überlauf"));
    const MessageId japanese =
        addMessage(*store, chat, english, kAssistant, QStringLiteral("古池や蛙飛び込む水の音"));
    const auto found = [&](const char* query) {
        QVector<MessageId> ids;
        const auto hits = store->search(QString::fromUtf8(query));
        REQUIRE(hits.ok());
        for (const SearchHit& hit : *hits) ids.append(hit.message);
        return ids;
    };
    CHECK(found("pon") == QVector<MessageId>{english});
    CHECK(found("ueberlauf").isEmpty());
    CHECK(found("uberl") == QVector<MessageId>{english});
    CHECK(found("\"old pond\"") == QVector<MessageId>{english});
    CHECK(found("\"pond old\"").isEmpty());
    CHECK(found("old missing").isEmpty());
    CHECK(found("飛び込む") == QVector<MessageId>{japanese});
    CHECK(found("frog") == QVector<MessageId>{0, english});  // the title, then the message
    for (const char* nonsense : {"\"", "*", "AND", "a OR", "NEAR(", "col:x", "-", "'; DROP TABLE"})
        CHECK(store->search(QString::fromLatin1(nonsense)).ok());
    CHECK(store->chats()->size() == 1);
}

TEST_CASE("ChatStore: a file of a newer version opens for reading, and says so", "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("from the future"));
    }
    runSql(scratch.path(), {QStringLiteral("PRAGMA user_version=999")});
    auto store = openStore(scratch.path());
    CHECK(store->isReadOnly());
    CHECK_FALSE(store->notice().isEmpty());
    CHECK(store->chats()->size() == 1);
    CHECK_FALSE(store->deleteChat(chat).ok());
    CHECK(store->chats()->size() == 1);
}

TEST_CASE("ChatStore: rows that make no sense do not keep the rest from opening", "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("x"));
        for (int i = 0; i < 4; ++i)
            addMessage(*store, chat, 0, kUser, QStringLiteral("message %1").arg(i));
    }
    runSql(scratch.path(), {QStringLiteral("UPDATE messages SET parent=id WHERE id=2"),
                            QStringLiteral("UPDATE messages SET state=77 WHERE id=3"),
                            QStringLiteral("UPDATE chats SET active_leaf=12345")});
    auto store = openStore(scratch.path());
    const auto messages = store->messages(chat);
    REQUIRE(messages.ok());
    REQUIRE(messages->size() == 2);
    CHECK(messages->at(0).content == QStringLiteral("message 0"));
    CHECK(messages->at(1).content == QStringLiteral("message 3"));
}

TEST_CASE("ChatStore: a file that is no database is refused by name and left alone",
          "[gui][quick]") {
    testing::application();
    const Scratch scratch;
    QFile file(scratch.path());
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(5000, 'x'));
    file.close();
    const auto store = ChatStore::open(scratch.path());
    REQUIRE_FALSE(store.ok());
    CHECK(store.error().where == scratch.path().toStdString());
    CHECK(QFileInfo(scratch.path()).size() == 5000);
}

TEST_CASE("ChatStore: a full disk is an error, and the message before it is safe", "[gui][quick]") {
    const Scratch scratch;
    auto store = openStore(scratch.path());
    const ChatId chat = addChat(*store, QStringLiteral("x"));
    addMessage(*store, chat, 0, kUser, QStringLiteral("before"));

    // No file of this process may grow beyond this size, as on a disk that is full.
    rlimit old{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = old;
    small.rlim_cur = 512 * 1024;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    MessageRecord record;
    record.chat = chat;
    record.role = kUser;
    record.content = QString(4 << 20, QLatin1Char('z'));
    const auto refused = store->addMessage(record);
    setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, oldHandler);

    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::io);
    CHECK(store->messages(chat)->size() == 1);
    addMessage(*store, chat, 0, kUser, QStringLiteral("after"));
    CHECK(store->messages(chat)->size() == 2);
}

TEST_CASE("migrate: each step is made once, after a backup of what was there", "[gui][quick]") {
    testing::application();
    const Scratch scratch;
    const QVector<Migration> one{{QStringLiteral("CREATE TABLE t (a)")}};
    const QVector<Migration> two{one[0], {QStringLiteral("ALTER TABLE t ADD COLUMN b")}};
    const QVector<Migration> broken{
        two[0], two[1], {QStringLiteral("CREATE TABLE u (a)"), QStringLiteral("NONSENSE")}};
    auto database = Database::open(scratch.path(), Database::Access::readWrite);
    REQUIRE(database.ok());
    REQUIRE(migrate(**database, one).ok());
    CHECK_FALSE(QFileInfo::exists(scratch.path() + QStringLiteral(".v1.backup")));
    REQUIRE((*database)->run(QStringLiteral("INSERT INTO t VALUES (1)")).ok());
    REQUIRE(migrate(**database, two).ok());
    REQUIRE(migrate(**database, two).ok());
    CHECK(*databaseVersion(**database) == 2);

    auto backup =
        Database::open(scratch.path() + QStringLiteral(".v1.backup"), Database::Access::readOnly);
    REQUIRE(backup.ok());
    auto rows = (*backup)->run(QStringLiteral("SELECT a FROM t"));
    REQUIRE(rows.ok());
    REQUIRE(rows->next());
    CHECK(rows->value(0).toInt() == 1);

    CHECK_FALSE(migrate(**database, broken).ok());
    CHECK(*databaseVersion(**database) == 2);
    CHECK_FALSE((*database)->run(QStringLiteral("SELECT * FROM u")).ok());
}
