// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_session.h"

#include "gui/application/app_fixture.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Fixture : AppFixture {
    std::unique_ptr<ChatSession> session;

    Fixture() {
        loadModel();
        session = std::make_unique<ChatSession>(*generator);
        SamplingOptions greedy;
        greedy.temperature = 0;
        session->setSampling(greedy, 0);
        session->open(*store, 0);
    }
    /// Runs what starts a reply and waits for its end.
    template <class Action>
    Turn replyTo(Action action) {
        QSignalSpy ended(session.get(), &ChatSession::replyEnded);
        action();
        REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
        return session->turns().last();
    }
    Turn say(const char* text) {
        return replyTo([&] { session->send(QString::fromUtf8(text)); });
    }
};

}  // namespace

TEST_CASE("ChatSession: a message is on the disk before its reply begins", "[gui][quick]") {
    Fixture f;
    QVector<MessageRecord> seen;
    QObject::connect(f.session.get(), &ChatSession::busyChanged, f.session.get(), [&](bool isBusy) {
        if (!isBusy) return;
        const auto other = ChatStore::open(f.folders.chatsFile());
        REQUIRE(other.ok());
        seen = *(*other)->messages(f.session->chat());
    });
    f.say("Hello");
    REQUIRE(seen.size() >= 1);
    CHECK(seen.first().content == QStringLiteral("Hello"));
}

TEST_CASE("ChatSession: replies stream, end and come back after a restart", "[gui][quick]") {
    Fixture f;
    f.answer("An old pond, 古池.");
    QString streamed;
    QObject::connect(f.session.get(), &ChatSession::textStreamed, f.session.get(),
                     [&](const QString& text) { streamed += text; });
    const Turn reply = f.say("Write.");
    CHECK(reply.content == QString::fromUtf8("An old pond, 古池."));
    CHECK(streamed == reply.content);
    CHECK(reply.state == MessageState::complete);
    CHECK(reply.details.contains(QStringLiteral("ended by itself")));
    const ChatId chat = f.session->chat();
    f.openStore();
    f.session->open(*f.store, chat);
    REQUIRE(f.session->turns().size() == 2);
    CHECK(f.session->turns().last().content == reply.content);
}

TEST_CASE("ChatSession: regenerating and editing keep the versions before", "[gui][quick]") {
    Fixture f;
    f.answer("first");
    const MessageId first = f.say("Question").id;
    f.answer("second");
    const Turn second = f.replyTo([&] { f.session->regenerate(first); });
    CHECK(second.content == QStringLiteral("second"));
    CHECK(second.version == 2);
    CHECK(second.numVersions == 2);
    f.session->showVersion(second.id, -1);
    CHECK(f.session->turns().last().content == QStringLiteral("first"));
    f.session->showVersion(first, -1);  // there is none before: nothing happens
    CHECK(f.session->turns().last().content == QStringLiteral("first"));

    f.answer("third");
    const MessageId question = f.session->turns().first().id;
    const Turn third =
        f.replyTo([&] { f.session->edit(question, QStringLiteral("Another question")); });
    CHECK(third.content == QStringLiteral("third"));
    const QVector<Turn> turns = f.session->turns();
    REQUIRE(turns.size() == 2);
    CHECK(turns.first().content == QStringLiteral("Another question"));
    CHECK(turns.first().numVersions == 2);
    f.session->showVersion(turns.first().id, -1);
    CHECK(f.session->turns().first().content == QStringLiteral("Question"));
}

TEST_CASE("ChatSession: regenerating evaluates the prompt only once", "[gui][quick]") {
    Fixture f;
    const MessageId first = f.say("A question of some length, so that it takes steps.").id;
    const uint32_t before = f.control->num_rows;
    f.replyTo([&] { f.session->regenerate(first); });
    const uint32_t rows = f.control->num_rows - before;
    const auto reply = static_cast<uint32_t>(f.session->turns().last().content.size());
    CHECK(rows <= reply + 2);  // the last token of the prompt, and the reply
}

TEST_CASE("ChatSession: a stopped reply keeps its text, and the next message works",
          "[gui][quick]") {
    Fixture f;
    f.answer(std::string(3000, 'x'));
    f.control->step_time = std::chrono::milliseconds(2);
    const Turn stopped = f.replyTo([&] {
        QObject::connect(f.session.get(), &ChatSession::textStreamed, f.session.get(),
                         &ChatSession::stop, Qt::SingleShotConnection);
        f.session->send(QStringLiteral("Go on forever"));
    });
    CHECK(stopped.state == MessageState::stopped);
    CHECK(stopped.content.startsWith(QLatin1Char('x')));
    CHECK(stopped.content.size() < 3000);
    f.control->step_time = std::chrono::milliseconds(0);
    f.answer("fine");
    CHECK(f.say("And now?").content == QStringLiteral("fine"));
    // Continuing a reply goes on from its text.
    f.session->showVersion(stopped.id, 0);
}

TEST_CASE("ChatSession: a reply stopped before its first word does not break the chat",
          "[gui][quick]") {
    Fixture f;
    f.control->step_time = std::chrono::milliseconds(50);
    const Turn stopped = f.replyTo([&] {
        f.session->send(QStringLiteral("Hello"));
        f.session->stop();
    });
    CHECK(stopped.content.isEmpty());
    f.control->step_time = std::chrono::milliseconds(0);
    CHECK(f.say("Hello again").content == QStringLiteral("An answer."));
}

TEST_CASE("ChatSession: continuing takes up the text of the reply", "[gui][quick]") {
    Fixture f;
    f.answer("abc");
    const MessageId reply = f.say("Question").id;
    f.answer("abcdef");
    const Turn longer = f.replyTo([&] { f.session->continueReply(reply); });
    CHECK(longer.content == QStringLiteral("abcdef"));
}

TEST_CASE("ChatSession: what is deleted can be taken back", "[gui][quick]") {
    Fixture f;
    const MessageId reply = f.say("Question").id;
    f.session->remove(reply);
    CHECK(f.session->turns().size() == 1);
    f.session->undoRemove();
    REQUIRE(f.session->turns().size() == 2);
    CHECK(f.session->turns().last().id == reply);
}

TEST_CASE("ChatSession: opening another chat ends the reply and keeps it there", "[gui][quick]") {
    Fixture f;
    f.answer(std::string(3000, 'x'));
    f.control->step_time = std::chrono::milliseconds(2);
    QSignalSpy streamed(f.session.get(), &ChatSession::textStreamed);
    f.session->send(QStringLiteral("Question"));
    REQUIRE(streamed.wait(kPatienceMs));
    const ChatId chat = f.session->chat();
    f.session->open(*f.store, 0);
    CHECK_FALSE(f.session->isBusy());
    f.control->step_time = std::chrono::milliseconds(0);
    f.answer("elsewhere");
    CHECK(f.say("New").content == QStringLiteral("elsewhere"));
    f.session->open(*f.store, chat);
    REQUIRE(f.session->turns().size() == 2);
    CHECK(f.session->turns().last().state == MessageState::stopped);
    CHECK(f.session->turns().last().content.startsWith(QLatin1Char('x')));
}

TEST_CASE("ChatSession: counts the tokens of the conversation and the draft", "[gui][quick]") {
    Fixture f;
    QSignalSpy budget(f.session.get(), &ChatSession::budgetChanged);
    f.session->updateBudget(QString());
    CHECK(budget.last()[0].toUInt() == 0);
    CHECK(budget.last()[1].toUInt() == 4096);
    f.session->updateBudget(QStringLiteral("abcd"));
    const uint32_t used = budget.last()[0].toUInt();
    f.session->updateBudget(QStringLiteral("abcdef"));
    CHECK(budget.last()[0].toUInt() == used + 2);  // the fake has a token for each byte
}

TEST_CASE("ChatSession: a full context is said", "[gui][quick]") {
    Fixture f;
    QSignalSpy full(f.session.get(), &ChatSession::contextFull);
    f.answer(std::string(5000, 'y'));
    const Turn reply = f.say("Question");
    CHECK(reply.content.size() > 3000);
    CHECK(full.size() == 1);
}

TEST_CASE("ChatSession: leaving out the oldest turns makes room, and names them", "[gui][quick]") {
    Fixture f;
    QSignalSpy full(f.session.get(), &ChatSession::contextFull);
    QSignalSpy noticed(f.session.get(), &ChatSession::noticed);
    f.session->setSystemPrompt(QStringLiteral("SYSTEM"));
    f.answer(std::string(1500, 'a'));
    f.say("first question");
    f.say("second question");
    f.answer("short");
    CHECK(f.say("third question").content == QStringLiteral("short"));
    REQUIRE(full.isEmpty());
    f.answer(std::string(1500, 'b'));
    // With 4,096 tokens, one for each byte, this no longer fits.
    const Turn cut = f.say("fourth question");
    REQUIRE(full.size() == 1);
    REQUIRE(cut.content.size() < 1500);

    f.session->setOverflow(OverflowChoice::dropOldest);
    const Turn whole = f.replyTo([&] { f.session->continueReply(cut.id); });
    CHECK(whole.content == QString(1500, QLatin1Char('b')));
    CHECK(full.size() == 1);
    REQUIRE_FALSE(noticed.isEmpty());
    const QString named = noticed.last().first().toString();
    CHECK(named.contains(QStringLiteral("first question")));
    CHECK_FALSE(named.contains(QStringLiteral("third question")));
    // Only the prompt is shorter: the conversation is whole.
    CHECK(f.session->turns().first().content == QStringLiteral("first question"));
}
