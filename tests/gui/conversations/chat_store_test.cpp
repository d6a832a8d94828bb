// SPDX-License-Identifier: Apache-2.0
#include "conversations/chat_store.h"

#include "conversations/chat_migrations.h"
#include "gui/conversations/store_scratch.h"

#include <QFile>
#include <QFileInfo>

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

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

namespace {

/// By this process, to whatever file.
qint64 bytesWritten() {
    QFile io(QStringLiteral("/proc/self/io"));
    REQUIRE(io.open(QIODevice::ReadOnly));
    for (const QByteArray& line : io.readAll().split('\n'))
        if (line.startsWith("wchar: ")) return line.mid(7).toLongLong();
    FAIL("the kernel does not count");
    return 0;
}

}  // namespace

TEST_CASE("ChatStore: storing streamed text writes in proportion to it", "[gui][quick]") {
    const Scratch scratch;
    auto store = openStore(scratch.path());
    const ChatId chat = addChat(*store, QStringLiteral("x"));
    const MessageId reply = addMessage(*store, chat, 0, kAssistant, {}, MessageState::streaming);
    constexpr int kPieces = 400, kPieceBytes = 2000;
    const qint64 before = bytesWritten();
    for (int i = 0; i < kPieces; ++i)
        REQUIRE(store->appendText(reply, QString(kPieceBytes, QLatin1Char('a')), {}).ok());
    // Rewriting the message each time would write 160 MB.
    CHECK(bytesWritten() - before < qint64{20} * kPieces * kPieceBytes);
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

TEST_CASE("ChatStore: what is found is shown with the words around it", "[gui][quick]") {
    auto store = openStore({});
    const ChatId chat = addChat(*store, QStringLiteral("Of animals"));
    QString longText = QStringLiteral("rain ").repeated(200);
    longText += QStringLiteral("then a frog jumps into the pond ") + longText;
    const MessageId message = addMessage(*store, chat, 0, kAssistant, longText);
    const auto hits = store->search(QStringLiteral("frog"));
    REQUIRE(hits.ok());
    REQUIRE(hits->size() == 1);
    const SearchHit& hit = hits->first();
    CHECK(hit.chat == chat);
    CHECK(hit.message == message);
    CHECK(hit.title == QStringLiteral("Of animals"));
    CHECK(hit.snippet.contains(QStringLiteral("a \uE000frog\uE001 jumps")));
    CHECK(hit.snippet.size() < 300);
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

TEST_CASE("migrate: each step is made once, after a backup of what was there", "[gui][quick]") {
    application();
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

TEST_CASE("ChatStore: a commit is on the disk when it returns", "[gui][quick]") {
    application();
    const Scratch scratch;
    const auto database = Database::open(scratch.path(), Database::Access::readWrite);
    REQUIRE(database.ok());
    const auto valueOf = [&](const char* pragma) {
        auto rows = (*database)->run(QStringLiteral("PRAGMA ") + QLatin1String(pragma));
        REQUIRE(rows.ok());
        REQUIRE(rows->next());
        return rows->value(0).toString();
    };
    CHECK(valueOf("synchronous") == QStringLiteral("2"));  // FULL
    CHECK(valueOf("journal_mode") == QStringLiteral("wal"));
    CHECK(valueOf("foreign_keys") == QStringLiteral("1"));
}

TEST_CASE("ChatStore: files of every older version open, after a backup", "[gui][quick]") {
    application();
    for (int version = 1; version < chatMigrations().size(); ++version) {
        INFO("version " << version);
        const Scratch scratch;
        {
            const auto old = Database::open(scratch.path(), Database::Access::readWrite);
            REQUIRE(old.ok());
            REQUIRE(migrate(**old, chatMigrations().mid(0, version)).ok());
        }
        runSql(scratch.path(),
               {QStringLiteral("INSERT INTO chats (id, title, updated) VALUES (7, 'Pond', 1)"),
                QStringLiteral("INSERT INTO messages (id, chat, role, content, created) VALUES "
                               "(3, 7, 'user', 'a frog', 1)"),
                QStringLiteral("INSERT INTO messages (id, chat, parent, role, content, state, "
                               "created) VALUES (4, 7, 3, 'assistant', '', 1, 1)"),
                QStringLiteral("INSERT INTO message_pieces (message, content, thought) VALUES "
                               "(4, 'half an ans', '')")});
        const auto store = openStore(scratch.path());
        CHECK_FALSE(store->notice());
        CHECK(store->isStored());
        REQUIRE(store->chats()->size() == 1);
        CHECK(store->chats()->first().title == QStringLiteral("Pond"));
        REQUIRE(store->messages(7)->size() == 2);
        CHECK(store->messages(7)->last().content == QStringLiteral("half an ans"));
        CHECK(store->messages(7)->last().state == MessageState::stopped);
        CHECK(store->search(QStringLiteral("frog"))->size() == 1);
        const QString backup = QStringLiteral("%1.v%2.backup").arg(scratch.path()).arg(version);
        const auto copy = Database::open(backup, Database::Access::readOnly);
        REQUIRE(copy.ok());
        CHECK(*databaseVersion(**copy) == version);
        auto rows = (*copy)->run(QStringLiteral("SELECT content FROM messages WHERE id=3"));
        REQUIRE(rows.ok());
        REQUIRE(rows->next());
        CHECK(rows->value(0).toString() == QStringLiteral("a frog"));
    }
}

TEST_CASE("ChatStore: opening reads no more of a long history than it must", "[gui][quick]") {
    const Scratch scratch;
    openStore(scratch.path()).reset();
    const auto database = Database::open(scratch.path(), Database::Access::readOnly);
    REQUIRE(database.ok());
    for (const char* condition : {"state=1", "deleted=1"}) {
        auto plan =
            (*database)->run(QStringLiteral("EXPLAIN QUERY PLAN DELETE FROM messages WHERE ") +
                             QLatin1String(condition));
        REQUIRE(plan.ok());
        REQUIRE(plan->next());
        CHECK(plan->value(3).toString().contains(QStringLiteral("USING")));
    }
}

TEST_CASE("ChatStore: a version that never was is a damaged file, not a crash", "[gui][quick]") {
    const Scratch scratch;
    runSql(scratch.path(),
           {QStringLiteral("CREATE TABLE x(a)"), QStringLiteral("PRAGMA user_version=-5")});
    const auto store = openStore(scratch.path());
    CHECK_FALSE(store->isStored());
    CHECK(addChat(*store, QStringLiteral("still works")) > 0);
}

TEST_CASE("ChatStore: a file without its tables is a damaged one, not the end", "[gui][quick]") {
    const Scratch scratch;
    runSql(scratch.path(),
           {QStringLiteral("CREATE TABLE chats(a)"), QStringLiteral("PRAGMA user_version=2")});
    const auto store = openStore(scratch.path());
    CHECK_FALSE(store->isStored());
    CHECK(store->notice()().contains(scratch.path()));
    CHECK(addChat(*store, QStringLiteral("still works")) > 0);
}
