// SPDX-License-Identifier: Apache-2.0
#include "conversations/chat_file.h"

#include <sys/resource.h>

#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <csignal>

#include "gui/conversations/store_scratch.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    REQUIRE(file.open(QIODevice::ReadOnly));
    return file.readAll();
}

/// No file of this process may grow beyond a size, as on a disk that is full.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) {
        REQUIRE(getrlimit(RLIMIT_FSIZE, &m_before) == 0);
        m_handler = std::signal(SIGXFSZ, SIG_IGN);
        rlimit small = m_before;
        small.rlim_cur = bytes;
        REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, m_handler);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

  private:
    rlimit m_before{};
    void (*m_handler)(int) = nullptr;
};

/// What a person does in a session that cannot be stored.
void goOn(ChatStore& store, ChatId old) {
    const ChatId chat = addChat(store, QStringLiteral("new"));
    CHECK(chat > old);
    const MessageId question = addMessage(store, chat, 0, kUser, QStringLiteral("a new question"));
    const MessageId reply =
        addMessage(store, chat, question, kAssistant, {}, MessageState::streaming);
    REQUIRE(store.appendText(reply, QStringLiteral("strea"), {}).ok());
    MessageRecord ended{.id = reply, .chat = chat, .parent = question, .role = kAssistant};
    ended.content = QStringLiteral("streamed");
    REQUIRE(store.finishMessage(ended).ok());
    CHECK(store.messages(chat)->last().content == QStringLiteral("streamed"));
    CHECK(store.search(QStringLiteral("new question"))->size() == 1);
}

}  // namespace

TEST_CASE("ChatFile: a file of a newer version is read, gone on with and never changed",
          "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("from the future"));
        addMessage(*store, chat, 0, kUser, QStringLiteral("old words"));
    }
    runSql(scratch.path(), {QStringLiteral("ALTER TABLE chats ADD COLUMN mood TEXT"),
                            QStringLiteral("PRAGMA user_version=999")});
    const QByteArray before = bytesOf(scratch.path());
    {
        auto store = openStore(scratch.path());
        CHECK_FALSE(store->isStored());
        CHECK(store->notice()().contains(QStringLiteral("newer version")));
        REQUIRE(store->chats()->size() == 1);
        CHECK(store->messages(chat)->first().content == QStringLiteral("old words"));
        CHECK(store->search(QStringLiteral("old words"))->size() == 1);
        goOn(*store, chat);
        CHECK(store->deleteChat(chat).ok());
    }
    CHECK((bytesOf(scratch.path()) == before));
}

TEST_CASE("ChatFile: a file that is no database is named and left alone", "[gui][quick]") {
    const Scratch scratch;
    {
        QFile file(scratch.path());
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(5000, 'x'));
    }
    {
        auto store = openStore(scratch.path());
        CHECK_FALSE(store->isStored());
        CHECK(store->notice()().contains(scratch.path()));
        CHECK(store->chats()->isEmpty());
        goOn(*store, 0);
    }
    CHECK((bytesOf(scratch.path()) == QByteArray(5000, 'x')));
}

TEST_CASE("ChatFile: of a damaged file the chats that can be read are there", "[gui][quick]") {
    const Scratch scratch;
    constexpr int kChats = 20;
    {
        auto store = openStore(scratch.path());
        for (int i = 0; i < kChats; ++i) {
            const ChatId chat = addChat(*store, QStringLiteral("chat %1").arg(i));
            addMessage(*store, chat, 0, kUser, QString(9000, QLatin1Char('m')));
        }
    }
    // A page in the middle of the long messages.
    constexpr qint64 kPage = 4096;
    {
        QFile file(scratch.path());
        REQUIRE(file.open(QIODevice::ReadWrite));
        const qsizetype at = file.readAll().lastIndexOf(QByteArray(2000, 'm'));
        REQUIRE(at > 0);
        REQUIRE(file.seek(at / kPage * kPage));
        file.write(QByteArray(kPage, '\xff'));
    }
    auto store = openStore(scratch.path());
    const auto chats = store->chats();
    REQUIRE(chats.ok());
    CHECK(chats->size() == kChats);
    int numRead = 0;
    for (const ChatRecord& chat : *chats) {
        const auto messages = store->messages(chat.id);
        numRead += messages.ok() && messages->size() == 1 ? 1 : 0;
    }
    CHECK(numRead >= kChats - 2);
    const ChatId chat = addChat(*store, QStringLiteral("goes on"));
    addMessage(*store, chat, 0, kUser, QStringLiteral("words"));
    CHECK(store->messages(chat)->size() == 1);
}

TEST_CASE("ChatFile: with a full disk the session goes on, and all is stored when there is room",
          "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        QSignalSpy noticed(store.get(), &ChatStore::noticed);
        chat = addChat(*store, QStringLiteral("old"));
        const MessageId first = addMessage(*store, chat, 0, kUser, QStringLiteral("before"));
        {
            const FullDisk full(512 * 1024);
            addMessage(*store, chat, first, kUser, QString(4 << 20, QLatin1Char('z')));
            REQUIRE(noticed.size() == 1);
            CHECK(noticed.first().first().value<NoticeWords>()().contains(
                QStringLiteral("cannot be stored")));
            CHECK_FALSE(store->isStored());
            CHECK(store->messages(chat)->size() == 2);
            goOn(*store, chat);
            CHECK(noticed.size() == 1);  // said once
            // Meanwhile nothing has happened to the file.
            const auto file = Database::open(scratch.path(), Database::Access::readOnly);
            auto rows = (*file)->run(QStringLiteral("SELECT content FROM messages"));
            REQUIRE(rows->next());
            CHECK(rows->value(0).toString() == QStringLiteral("before"));
            CHECK_FALSE(rows->next());
        }
        addMessage(*store, chat, first, kUser, QStringLiteral("after"));
    }
    auto store = openStore(scratch.path());
    CHECK(store->isStored());
    CHECK_FALSE(store->notice());
    REQUIRE(store->chats()->size() == 2);
    CHECK(store->messages(chat)->size() == 3);
    CHECK(store->messages(chat)->at(1).content.size() == 4 << 20);
    CHECK(store->search(QStringLiteral("streamed"))->size() == 1);
    runSql(scratch.path(), {QStringLiteral("INSERT INTO message_search(message_search, rank) "
                                           "VALUES('integrity-check', 1)")});
}

TEST_CASE("ChatFile: a folder that cannot be made is said, and made when it can", "[gui][quick]") {
    const Scratch scratch;
    const QString blocker = scratch.folder.filePath(QStringLiteral("data"));
    QFile file(blocker);
    REQUIRE(file.open(QIODevice::WriteOnly));
    file.close();
    const QString path = blocker + QStringLiteral("/chats.sqlite");
    {
        auto store = openStore(path);
        CHECK_FALSE(store->isStored());
        CHECK(store->notice()().contains(path));
        goOn(*store, 0);
        REQUIRE(file.remove());
        REQUIRE(QDir().mkpath(blocker));
    }
    CHECK(openStore(path)->chats()->size() == 1);
}

TEST_CASE("ChatFile: what another program has written is not overwritten", "[gui][quick]") {
    const Scratch scratch;
    ChatId chat = 0;
    {
        auto store = openStore(scratch.path());
        chat = addChat(*store, QStringLiteral("old"));
        {
            const FullDisk full(1024);
            addMessage(*store, chat, 0, kUser, QString(1 << 20, QLatin1Char('z')));
        }
        REQUIRE_FALSE(store->isStored());
        auto other = openStore(scratch.path());
        addMessage(*other, chat, 0, kUser, QStringLiteral("of the other"));
    }
    auto store = openStore(scratch.path());
    REQUIRE(store->messages(chat)->size() == 1);
    CHECK(store->messages(chat)->first().content == QStringLiteral("of the other"));
}
