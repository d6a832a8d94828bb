// SPDX-License-Identifier: Apache-2.0
#include "conversations/conversation_model.h"

#include <QAbstractItemModelTester>

#include "conversations/exchange.h"
#include "gui/support/application.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::desktop;

namespace {

ChatRecord chat(ChatId id, const QString& title, const QString& folder = {}) {
    ChatRecord record;
    record.id = id;
    record.title = title;
    record.folder = folder;
    return record;
}

const QString kVerse = QStringLiteral("Verse");

}  // namespace

TEST_CASE("ConversationModel: pinned chats come first, then folders with their chats",
          "[gui][quick]") {
    testing::application();
    ConversationModel model;
    const QAbstractItemModelTester tester(&model,
                                          QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setChats({chat(1, QStringLiteral("one")), chat(2, QStringLiteral("two"), kVerse),
                    chat(3, QStringLiteral("three"), QStringLiteral("Letters")),
                    chat(4, QStringLiteral("four"), kVerse)});
    REQUIRE(model.rowCount({}) == 3);
    CHECK(model.index(0, 0, {}).data().toString() == QStringLiteral("Letters"));
    const QModelIndex verse = model.index(1, 0, {});
    CHECK(verse.data().toString() == kVerse);
    REQUIRE(model.rowCount(verse) == 2);
    CHECK(model.index(1, 0, verse).data().toString() == QStringLiteral("four"));
    CHECK(model.index(2, 0, {}).data().toString() == QStringLiteral("one"));
    for (ChatId id = 1; id <= 4; ++id) {
        const QModelIndex index = model.indexOf(id);
        REQUIRE(index.isValid());
        CHECK(model.chatAt(index)->id == id);
    }
    CHECK_FALSE(model.indexOf(5).isValid());

    ChatRecord pinned = chat(5, QStringLiteral("five"));
    pinned.isPinned = true;
    model.setChats(
        {pinned, chat(1, QStringLiteral("one")), chat(2, QStringLiteral("two"), kVerse)});
    REQUIRE(model.rowCount({}) == 3);
    CHECK(model.chatAt(model.index(0, 0, {}))->id == 5);
    CHECK(model.index(1, 0, {}).data().toString() == kVerse);
    for (const ChatId id : {5, 1, 2}) CHECK(model.chatAt(model.indexOf(id))->id == id);
    model.setChats({});
    CHECK(model.rowCount({}) == 0);
}

TEST_CASE("exportChat: JSON comes back as the same tree", "[gui][quick]") {
    testing::application();
    auto store = ChatStore::open({});
    REQUIRE(store.ok());
    ChatRecord record = chat(0, QStringLiteral("Old pond / 古池"));
    record.systemPrompt = QStringLiteral("Be brief.");
    const ChatId id = *(*store)->createChat(record);
    const auto add = [&](MessageId parent, const char* role, const char* text) {
        MessageRecord message;
        message.chat = id;
        message.parent = parent;
        message.role = QString::fromUtf8(role);
        message.content = QString::fromUtf8(text);
        return *(*store)->addMessage(message);
    };
    const MessageId question = add(0, "user", "A frog?");
    const MessageId first = add(question, "assistant", "Splash *one*");
    add(question, "assistant", "Splash two");
    REQUIRE((*store)->setActiveLeaf(id, first).ok());

    const QByteArray json =
        exportChat(*(*store)->chat(id), *(*store)->messages(id), ExportFormat::json);
    const auto imported = importChat(**store, json, QStringLiteral("chat.json"));
    REQUIRE(imported.ok());
    CHECK(*imported != id);
    const auto messages = (*store)->messages(*imported);
    REQUIRE(messages->size() == 3);
    CHECK(messages->at(1).parent == messages->at(0).id);
    CHECK(messages->at(2).parent == messages->at(0).id);
    const auto chatAgain = (*store)->chat(*imported);
    CHECK(chatAgain->activeLeaf == messages->at(1).id);
    CHECK(chatAgain->systemPrompt == QStringLiteral("Be brief."));
    // Without one, the imported chat has none either, whatever the presets here say.
    record.systemPrompt = QString();
    const QByteArray plain = exportChat(record, *(*store)->messages(id), ExportFormat::json);
    const auto plainId = importChat(**store, plain, QStringLiteral("chat.json"));
    REQUIRE(plainId.ok());
    CHECK(!(*store)->chat(*plainId)->systemPrompt.isNull());
    CHECK((*store)->chat(*plainId)->systemPrompt.isEmpty());

    const QByteArray markdown =
        exportChat(*(*store)->chat(id), *(*store)->messages(id), ExportFormat::markdown);
    CHECK(markdown ==
          QByteArray("# Old pond / 古池\n\n## You\n\nA frog?\n\n## Reply\n\nSplash *one*\n"));
    CHECK(exportName(*(*store)->chat(id), ExportFormat::text) ==
          QStringLiteral("Old pond 古池.txt"));
}

TEST_CASE("importChat: refuses what is no chat, and stores nothing of it", "[gui][quick]") {
    testing::application();
    auto store = ChatStore::open({});
    REQUIRE(store.ok());
    for (const char* content :
         {"", "{", "[]", "{}", "{\"format\":\"hokku-chat\",\"version\":99,\"messages\":[]}",
          "{\"format\":\"hokku-chat\",\"version\":1,\"messages\":[{\"role\":\"user\"}]}",
          "{\"format\":\"hokku-chat\",\"version\":1,\"messages\":[{\"role\":\"root\","
          "\"content\":\"x\"}]}",
          "{\"format\":\"hokku-chat\",\"version\":1}",
          "{\"format\":\"hokku-chat\",\"version\":1,\"messages\":{\"a\":1}}",
          "{\"format\":\"hokku-chat\",\"version\":4294967297,\"messages\":[]}",
          "{\"format\":\"hokku-chat\",\"version\":1.5,\"messages\":[]}",
          "{\"format\":\"hokku-chat\",\"version\":\"2\",\"messages\":[]}"}) {
        INFO(content);
        const auto imported = importChat(**store, content, QStringLiteral("x.json"));
        REQUIRE_FALSE(imported.ok());
        CHECK(imported.error().code == ErrorCode::bad_format);
    }
    CHECK((*store)->chats()->isEmpty());
    // A cycle of parents becomes separate roots instead of a hang.
    const auto cyclic = importChat(
        **store,
        "{\"format\":\"hokku-chat\",\"version\":1,\"messages\":["
        "{\"id\":1,\"parent\":2,\"role\":\"user\",\"content\":\"a\"},"
        "{\"id\":2,\"parent\":1,\"role\":\"user\",\"content\":\"b\"}],\"active_leaf\":2}",
        QStringLiteral("x.json"));
    REQUIRE(cyclic.ok());
    CHECK((*store)->messages(*cyclic)->size() == 2);
}

TEST_CASE("importChat: takes texts in UTF-8 and UTF-16, and no other files", "[gui][quick]") {
    testing::application();
    auto store = ChatStore::open({});
    REQUIRE(store.ok());
    for (const QByteArray& content : {QByteArray("caf\xc3\xa9"),
                                      QByteArray("\xef\xbb\xbf"
                                                 "caf\xc3\xa9"),
                                      QByteArray("\xff\xfe"
                                                 "c\0a\0f\0\xe9\0",
                                                 10)}) {
        const auto imported = importChat(**store, content, QStringLiteral("x.txt"));
        REQUIRE(imported.ok());
        CHECK((*store)->messages(*imported)->first().content == QString::fromUtf8("caf\xc3\xa9"));
        CHECK((*store)->chat(*imported)->activeLeaf == (*store)->messages(*imported)->first().id);
    }
    const qsizetype before = (*store)->chats()->size();
    for (const QByteArray& content :
         {QByteArray("caf\xe9"), QByteArray("caf\xe9 au lait"), QByteArray("\x89PNG\0\1", 6),
          QByteArray("a\0b", 3), QByteArray(kMostImportBytes + 1, 'x')})
        CHECK_FALSE(importChat(**store, content, QStringLiteral("x.txt")).ok());
    CHECK((*store)->chats()->size() == before);
}

TEST_CASE("importChat: stores a long chat in one step", "[gui][quick]") {
    testing::application();
    auto store = ChatStore::open({});
    REQUIRE(store.ok());
    QByteArray json("{\"format\":\"hokku-chat\",\"version\":1,\"active_leaf\":90,\"messages\":[");
    for (int i = 1; i <= 100; ++i)
        json += QStringLiteral("{\"id\":%1,\"parent\":%2,\"role\":\"user\",\"content\":\"m\"}%3")
                    .arg(i)
                    .arg(i - 1)
                    .arg(i < 100 ? QStringLiteral(",") : QStringLiteral("]}"))
                    .toUtf8();
    int numChanges = 0;
    QObject::connect(store->get(), &ChatStore::chatsChanged, store->get(), [&] { ++numChanges; });
    const auto imported = importChat(**store, json, QStringLiteral("x.json"));
    REQUIRE(imported.ok());
    CHECK(numChanges == 1);
    const auto messages = (*store)->messages(*imported);
    REQUIRE(messages->size() == 100);
    CHECK(messages->last().parent == messages->at(98).id);
    CHECK((*store)->chat(*imported)->activeLeaf == messages->at(89).id);
}
