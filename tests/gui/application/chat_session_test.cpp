// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_session.h"

#include <QElapsedTimer>

#include "gui/application/app_fixture.h"
#include "support/time_limits.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// With thoughts, of which it shows those of earlier replies.
constexpr const char* kThinkingTemplate =
    "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>"
    "{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% if not loop.last or not "
    "continue_final_message %}<end>{% endif %}{% endfor %}{% if add_generation_prompt %}"
    "<assistant>{% endif %}";

/// The bytes among the tokens.
std::string textOf(std::span<const int32_t> tokens) {
    std::string text;
    for (const int32_t token : tokens)
        if (token < 256) text.push_back(static_cast<char>(token));
    return text;
}

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
    CHECK(cut.notes.isEmpty());

    const Turn whole = f.replyTo([&] { f.session->goOn(Overflow::drop_oldest); });
    CHECK(whole.content == QString(1500, QLatin1Char('b')));
    CHECK(full.size() == 1);
    REQUIRE(whole.notes.size() == 1);
    CHECK(whole.notes.first().contains(QStringLiteral("first question")));
    CHECK_FALSE(whole.notes.first().contains(QStringLiteral("third question")));
    // Only the prompt is shorter: the conversation is whole.
    CHECK(f.session->turns().first().content == QStringLiteral("first question"));

    // What was left out stays out, also after a restart, and is not told again.
    const ChatId chat = f.session->chat();
    f.openStore();
    f.session->open(*f.store, chat);
    CHECK(f.session->turns().last().notes == whole.notes);
    std::string prompt;
    f.control->on_sequence = [&](std::span<const int32_t> history) {
        if (prompt.empty() && history.back() == fake_token::assistant) prompt = textOf(history);
    };
    f.answer("fine");
    CHECK(f.say("fifth question").notes.isEmpty());
    f.control->on_sequence = nullptr;
    CHECK(prompt.find("first question") == std::string::npos);
    CHECK(prompt.find("third question") != std::string::npos);
    CHECK(prompt.find("SYSTEM") != std::string::npos);
}

TEST_CASE("ChatSession: a longer context takes in again what was left out", "[gui][quick]") {
    Fixture f;
    f.answer(std::string(1500, 'a'));
    f.say("first question");
    f.say("second question");
    f.session->setOverflow(Overflow::drop_oldest);
    REQUIRE(f.say("third question").notes.size() == 1);
    QSignalSpy budget(f.session.get(), &ChatSession::budgetChanged);
    f.session->updateBudget({});
    const quint32 before = budget.last().first().toUInt();
    f.control->context_tokens = 5000;  // longer, but not long enough
    f.loadModel();
    f.session->updateBudget({});
    CHECK(budget.last().first().toUInt() == before);
    f.control->context_tokens = 16384;
    f.loadModel();
    f.session->updateBudget({});
    CHECK(budget.last().first().toUInt() > before + 1500);
}

TEST_CASE("ChatSession: a prompt that does not fit begins anew once there is room",
          "[gui][quick]") {
    Fixture f;
    QSignalSpy full(f.session.get(), &ChatSession::contextFull);
    f.answer(std::string(1900, 'a'));
    f.say("first question");
    f.answer("short");
    const std::string large(2500, 'x');
    const Turn refused = f.say(large.c_str());
    CHECK(refused.state == MessageState::failed);
    REQUIRE(full.size() == 1);
    const Turn reply = f.replyTo([&] { f.session->goOn(Overflow::drop_oldest); });
    CHECK(reply.content == QStringLiteral("short"));
    CHECK(reply.numVersions == 1);  // the empty one is gone
    CHECK(reply.notes.size() == 1);
}

TEST_CASE("ChatSession: a summary stands for what is left out, also later", "[gui][quick]") {
    Fixture f;
    f.answer(std::string(1600, 'a'));
    f.say("first question");
    f.say("second question");
    f.session->setOverflow(Overflow::summarise);
    const auto normal = answering("and so on");
    const auto summary = answering("They talked.");
    f.control->script = [=](std::span<const int32_t> history, std::span<float> logits) {
        const bool isSummary = textOf(history).find("Summarise it") != std::string::npos;
        (isSummary ? summary : normal)(history, logits);
    };
    const Turn reply = f.say("third question");
    CHECK(reply.content == QStringLiteral("and so on"));
    CHECK(reply.summary == QStringLiteral("They talked."));
    REQUIRE(reply.notes.size() == 1);
    CHECK(reply.notes.first().contains(QStringLiteral("summary")));
    std::string prompt;
    f.control->on_sequence = [&](std::span<const int32_t> history) {
        if (prompt.empty() && history.back() == fake_token::assistant) prompt = textOf(history);
    };
    CHECK(f.say("fourth question").notes.isEmpty());
    f.control->on_sequence = nullptr;
    CHECK(prompt.find("They talked.") != std::string::npos);
    CHECK(prompt.find("first question") == std::string::npos);
}

TEST_CASE("ChatSession: the context grows, or the reason why not is told", "[gui][quick]") {
    Fixture f;
    f.control->trained_context = 16384;
    f.loadModel();
    QSignalSpy full(f.session.get(), &ChatSession::contextFull);
    f.session->setOverflow(Overflow::grow);
    f.answer(std::string(5000, 'y'));
    const Turn reply = f.say("Question");
    CHECK(reply.content.size() == 5000);
    REQUIRE(reply.notes.size() == 1);
    CHECK(f.generator->model()->context_tokens > 4096);
    CHECK(full.isEmpty());

    f.control->can_grow = false;
    f.answer(std::string(20000, 'z'));
    const Turn cut = f.say("More");
    CHECK(cut.isCut);
    REQUIRE(full.size() == 1);
    CHECK_FALSE(full.first().first().toString().isEmpty());
}

TEST_CASE("ChatSession: thoughts are kept apart, timed, stored and sent back", "[gui][quick]") {
    Fixture f;
    f.control->chat_template = kThinkingTemplate;
    f.loadModel();
    QSignalSpy thoughts(f.session.get(), &ChatSession::thoughtStreamed);
    f.control->step_time = std::chrono::milliseconds(1);
    f.answer("<think>\nI think.\n</think>\n\nHello.");
    const Turn reply = f.say("Hi");
    f.control->step_time = std::chrono::milliseconds(0);
    CHECK(reply.content == QStringLiteral("Hello."));
    CHECK(reply.thought == QStringLiteral("I think."));
    CHECK(reply.thoughtMs > 0);
    CHECK_FALSE(thoughts.isEmpty());
    const ChatId chat = f.session->chat();
    f.openStore();
    f.session->open(*f.store, chat);
    CHECK(f.session->turns().last().thought == reply.thought);
    CHECK(f.session->turns().last().thoughtMs == reply.thoughtMs);
    std::string prompt;
    f.control->on_sequence = [&](std::span<const int32_t> history) {
        if (prompt.empty() && history.back() == fake_token::assistant) prompt = textOf(history);
    };
    f.say("Again");
    f.control->on_sequence = nullptr;
    CHECK(prompt.find("<think>I think.</think>Hello.") != std::string::npos);
}

TEST_CASE("ChatSession: a reply that was stopped within its thought goes on there",
          "[gui][quick]") {
    Fixture f;
    f.control->chat_template = kThinkingTemplate;
    f.loadModel();
    f.answer("<think>\n" + std::string(400, 't') + "</think>\n\nDone.");
    f.control->step_time = std::chrono::milliseconds(2);
    QSignalSpy budget(f.session.get(), &ChatSession::budgetChanged);
    QSignalSpy thoughts(f.session.get(), &ChatSession::thoughtStreamed);
    QSignalSpy ended(f.session.get(), &ChatSession::replyEnded);
    f.session->send(QStringLiteral("Hi"));
    REQUIRE(thoughts.wait(kPatienceMs));
    f.session->stop();
    REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
    const Turn stopped = f.session->turns().last();
    REQUIRE(stopped.content.isEmpty());
    REQUIRE(!stopped.thought.isEmpty());
    ended.clear();
    f.session->continueReply(stopped.id);
    REQUIRE(ended.wait(kPatienceMs));
    const Turn whole = f.session->turns().last();
    CHECK(whole.thought == QString(400, QLatin1Char('t')));
    CHECK(whole.content == QStringLiteral("Done."));
    CHECK(whole.thoughtMs >= stopped.thoughtMs);
    // While it was written the budget grew with it.
    quint32 most = 0;
    for (const QList<QVariant>& told : budget) most = qMax(most, told.first().toUInt());
    CHECK(most > 100);
}

TEST_CASE("ChatSession: what turns out to be a thought is taken out of the text", "[gui][quick]") {
    Fixture f;
    f.control->chat_template = kThinkingTemplate;
    f.loadModel();
    f.control->step_time = std::chrono::milliseconds(2);
    QString shown;  // as a view that follows the signals has it
    QObject::connect(f.session.get(), &ChatSession::textStreamed, f.session.get(),
                     [&](const QString& text) { shown += text; });
    int numCorrected = 0;
    QObject::connect(f.session.get(), &ChatSession::turnChanged, f.session.get(),
                     [&](const Turn& turn) {
                         if (turn.state == MessageState::streaming && !turn.thought.isEmpty())
                             ++numCorrected;
                         shown = turn.content;
                     });
    f.answer("I think of the sea.\n</think>\n\nHello.");
    const Turn reply = f.say("Hi");
    CHECK(reply.content == QStringLiteral("Hello."));
    CHECK(reply.thought == QStringLiteral("I think of the sea."));
    CHECK(shown == reply.content);
    CHECK(numCorrected >= 1);
    const auto messages = f.store->messages(f.session->chat());
    REQUIRE(messages->size() == 2);
    CHECK(messages->last().content == reply.content);
    CHECK(messages->last().thought == reply.thought);
}

TEST_CASE("ChatSession: a budget ends the thought and the answer begins", "[gui][quick]") {
    Fixture f;
    f.control->chat_template = kThinkingTemplate;
    f.loadModel();
    SamplingOptions greedy;
    greedy.temperature = 0;
    f.session->setSampling(greedy, 60, 20);
    f.answer("<think>" + std::string(200, 'a'));
    const Turn reply = f.say("Hi");
    CHECK(reply.thought.size() <= 20);
    CHECK_FALSE(reply.thought.isEmpty());
}

TEST_CASE("ChatSession: thousands of messages open without a search for each", "[gui][serial]") {
    Fixture f;
    QVector<MessageRecord> messages;
    for (int i = 1; i <= 20'000; ++i) {
        MessageRecord message;
        message.id = i;
        message.parent = i - 1;
        message.role = i % 2 == 1 ? QStringLiteral("user") : QStringLiteral("assistant");
        message.content = QStringLiteral("m");
        messages.append(message);
    }
    const auto chat = f.store->addChat({}, messages);
    REQUIRE(chat.ok());
    f.session->open(*f.store, *chat);
    QElapsedTimer timer;
    timer.start();
    CHECK(f.session->turns().size() == 20'000);
    CHECK(timer.elapsed() < 1'500 * kTimeFactor);
}
