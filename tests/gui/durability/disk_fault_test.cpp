// SPDX-License-Identifier: Apache-2.0
// The conversations on disks that are full, broken or read-only: every call that writes fails in
// turn.
#include "gui/durability/disk_faults.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QSignalSpy>
#include <cerrno>
#include <cstring>
#include <map>

#include "gui/conversations/store_scratch.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// In memory where there is such a folder: thousands of commits wait for no disk then.
struct QuickScratch {
    QTemporaryDir folder{QFileInfo(QStringLiteral("/dev/shm")).isWritable()
                             ? QStringLiteral("/dev/shm/hokku-XXXXXX")
                             : QDir::tempPath() + QStringLiteral("/hokku-XXXXXX")};
    [[nodiscard]] QString path() const { return folder.filePath(QStringLiteral("chäts.sqlite")); }
};

struct FaultsOff {
    ~FaultsOff() { clearDiskFaults(); }
};

/// What the store has said yes to.
struct Said {
    std::map<MessageId, QString> stored;   ///< While all was in the file.
    std::map<MessageId, QString> session;  ///< All.
    void add(const ChatStore& store, MessageId id, const QString& text) {
        session[id] = text;
        if (store.isStored()) stored[id] = text;
    }
};

/// A short session; every answer must be yes.
Said session(const QString& path) {
    Said said;
    const auto store = openStore(path);
    const ChatId chat = addChat(*store, QStringLiteral("chat"));
    MessageId parent = 0;
    for (int turn = 0; turn < 3; ++turn) {
        const QString text = QStringLiteral("question %1").arg(turn);
        parent = addMessage(*store, chat, parent, kUser, text);
        said.add(*store, parent, text);
        const MessageId reply =
            addMessage(*store, chat, parent, kAssistant, {}, MessageState::streaming);
        QString answer;
        for (int piece = 0; piece < 3; ++piece) {
            const QString part = QStringLiteral("piece %1 of %2; ").arg(piece).arg(turn);
            REQUIRE(store->appendText(reply, part, {}).ok());
            answer += part;
        }
        MessageRecord ended{.id = reply, .chat = chat, .parent = parent, .role = kAssistant};
        ended.content = answer;
        REQUIRE(store->finishMessage(ended).ok());
        said.add(*store, reply, answer);
        parent = reply;
    }
    ChatRecord record = *store->chat(chat);
    record.draft = QStringLiteral("half a thou");
    REQUIRE(store->updateChat(record).ok());
    // The session sees all of it, wherever it is.
    const auto messages = store->messages(chat);
    REQUIRE(messages.ok());
    REQUIRE(messages->size() == static_cast<qsizetype>(said.session.size()));
    for (const MessageRecord& message : *messages)
        CHECK(message.content == said.session.at(message.id));
    CHECK(store->search(QStringLiteral("question"))->size() == 3);
    if (!store->isStored()) CHECK(store->notice());
    return said;
}

/// What a later start finds, with the disk in order again.
void checkLater(const QString& path, const std::map<MessageId, QString>& expected) {
    {
        const auto store = openStore(path);
        CHECK(store->isStored());
        CHECK_FALSE(store->notice());
        std::map<MessageId, QString> found;
        const auto chats = store->chats();
        REQUIRE(chats.ok());
        for (const ChatRecord& chat : *chats) {
            const auto messages = store->messages(chat.id);
            for (const MessageRecord& message : *messages) found[message.id] = message.content;
        }
        for (const auto& [id, text] : expected) {
            INFO("message " << id);
            REQUIRE(found.count(id) == 1);
            CHECK(found[id] == text);
        }
    }
    const auto database = Database::open(path, Database::Access::readWrite);
    REQUIRE(database.ok());
    auto rows = (*database)->run(QStringLiteral("PRAGMA integrity_check"));
    REQUIRE(rows->next());
    CHECK(rows->value(0).toString() == QStringLiteral("ok"));
    CHECK((*database)
              ->run(QStringLiteral("INSERT INTO message_search(message_search, rank) "
                                   "VALUES('integrity-check', 1)"))
              .ok());
}

int callsOfASession() {
    const FaultsOff off;
    const QuickScratch scratch;
    setDiskFaults({.folder = scratch.folder.path().toStdString()});
    session(scratch.path());
    return numDiskCalls();
}

}  // namespace

TEST_CASE("The store: whichever call to the disk fails, the session goes on and nothing is lost",
          "[gui]") {
    const int numCalls = callsOfASession();
    REQUIRE(numCalls > 100);  // the faults are seen by SQLite at all
    const FaultsOff off;
    int numInMemory = 0;
    for (const int error : {ENOSPC, EIO}) {
        for (const bool isOnce : {true, false}) {
            // On a disk that stays broken SQLite waits ten seconds at some calls; few are tried.
            const int step = error == EIO && !isOnce ? 5 : 1;
            for (int call = 1; call <= numCalls; call += step) {
                INFO(strerror(error) << " at call " << call << (isOnce ? "" : " and after"));
                const QuickScratch scratch;
                setDiskFaults({.folder = scratch.folder.path().toStdString(),
                               .first = call,
                               .isOnce = isOnce,
                               .error = error});
                QElapsedTimer clock;
                clock.start();
                const Said said = session(scratch.path());
                clearDiskFaults();
                // SQLite waits ten seconds for some kinds of damage: not on a disk that is full.
                if (error == ENOSPC) CHECK(clock.elapsed() < 8000);
                numInMemory += said.stored.size() < said.session.size() ? 1 : 0;
                // After one fault the store has had its chance to make up for it when it closed.
                checkLater(scratch.path(), isOnce ? said.session : said.stored);
            }
        }
    }
    CHECK(numInMemory > numCalls);
}

TEST_CASE("The store: in a folder that is read-only the session goes on and says so",
          "[gui][quick]") {
    const QuickScratch scratch;
    const Said before = session(scratch.path());
    const FaultsOff off;
    setDiskFaults(
        {.folder = scratch.folder.path().toStdString(), .isReadOnly = true, .error = EROFS});
    {
        const auto store = openStore(scratch.path());
        CHECK_FALSE(store->isStored());
        CHECK(store->notice()().contains(scratch.path()));
        REQUIRE(store->chats()->size() == 1);
        const ChatId chat = store->chats()->first().id;
        CHECK(store->messages(chat)->size() == static_cast<qsizetype>(before.session.size()));
        CHECK(store->search(QStringLiteral("question"))->size() == 3);
        const MessageId last = store->messages(chat)->last().id;
        addMessage(*store, chat, last, kUser, QStringLiteral("and now?"));
        CHECK(store->messages(chat)->last().content == QStringLiteral("and now?"));
    }
    clearDiskFaults();
    checkLater(scratch.path(), before.session);
}
