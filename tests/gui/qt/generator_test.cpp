// SPDX-License-Identifier: Apache-2.0
#include "hokku/qt/generator.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include "engine/fake_model.h"
#include "gui/support/application.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

constexpr int kPatienceMs = 10'000;

/// A generator over the fake model, loaded.
struct Fixture {
    QApplication& app = application();
    std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
    qt::Generator generator{make_fake_engine(control)};

    Fixture() { control->context_tokens = 4096; }

    void load() {
        QSignalSpy ready(&generator, &qt::Generator::modelReady);
        generator.load({.path = "fake.gguf"});
        REQUIRE(ready.wait(kPatienceMs));
    }
    static GenerationRequest request(uint32_t maxTokens) {
        GenerationRequest request;
        request.tokens = std::vector<TokenId>{1, 2, 3};
        request.sampling.temperature = 0;
        request.max_tokens = maxTokens;
        return request;
    }
};

QString joined(const QSignalSpy& spy) {
    QString text;
    for (const auto& arguments : spy) text += arguments.first().toString();
    return text;
}

}  // namespace

TEST_CASE("Generator: streams whole characters and then says that it has ended",
          "[gui][quick][threads]") {
    Fixture f;
    f.load();
    const std::string answer = "a frog jumps, 古池, 🐸";
    // Without a template the end of the text is what ends a turn.
    f.control->script = [inner = answering(answer)](std::span<const int32_t> history,
                                                    std::span<float> logits) {
        inner(history, logits);
        std::swap(logits[fake_token::end], logits[fake_token::eos]);
    };
    QSignalSpy text(&f.generator, &qt::Generator::textArrived);
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    GenerationRequest request;
    request.tokens = std::vector<TokenId>{fake_token::assistant};
    request.sampling.temperature = 0;
    f.generator.send(request);
    CHECK(f.generator.isGenerating());
    REQUIRE(finished.wait(kPatienceMs));
    CHECK_FALSE(f.generator.isGenerating());
    CHECK(joined(text) == QString::fromUtf8(answer.c_str()));
    for (const auto& arguments : text)
        CHECK_FALSE(arguments.first().toString().contains(QChar::ReplacementCharacter));
    CHECK(finished.size() == 1);
    CHECK(finished.first()[1].value<StopReason>() == StopReason::end_of_generation);
}

TEST_CASE("Generator: however fast text comes, a frame has one signal", "[gui][quick][serial]") {
    Fixture f;
    f.load();
    QSignalSpy text(&f.generator, &qt::Generator::textArrived);
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    QElapsedTimer clock;
    clock.start();
    f.generator.send(Fixture::request(4000));
    REQUIRE(finished.wait(kPatienceMs));
    const qint64 frames = clock.elapsed() / 16 + 2;
    CHECK(text.size() <= frames);
    CHECK(text.size() > 0);
}

TEST_CASE("Generator: stop ends a reply and the next one can start", "[gui][quick]") {
    Fixture f;
    f.load();
    f.control->step_time = std::chrono::milliseconds(5);
    QSignalSpy text(&f.generator, &qt::Generator::textArrived);
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    f.generator.send(Fixture::request(0));
    REQUIRE(text.wait(kPatienceMs));
    f.generator.stop();
    REQUIRE(finished.wait(kPatienceMs));
    CHECK(finished.first()[1].value<StopReason>() == StopReason::cancelled);
    f.generator.send(Fixture::request(3));
    REQUIRE(finished.wait(kPatienceMs));
    CHECK(finished.last()[1].value<StopReason>() == StopReason::max_tokens);
}

TEST_CASE("Generator: a load in the middle of a reply ends it first", "[gui][quick]") {
    Fixture f;
    f.load();
    f.control->step_time = std::chrono::milliseconds(5);
    QSignalSpy text(&f.generator, &qt::Generator::textArrived);
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    QSignalSpy ready(&f.generator, &qt::Generator::modelReady);
    f.generator.send(Fixture::request(0));
    REQUIRE(text.wait(kPatienceMs));
    f.generator.load({.path = "other.gguf"});
    CHECK(f.generator.isLoading());
    REQUIRE(ready.wait(kPatienceMs));
    REQUIRE(QTest::qWaitFor([&] { return finished.size() == 1; }, kPatienceMs));
    CHECK_FALSE(f.generator.isGenerating());
}

TEST_CASE("Generator: of two loads the second counts", "[gui][quick]") {
    Fixture f;
    f.control->load_time = std::chrono::milliseconds(300);
    QSignalSpy ready(&f.generator, &qt::Generator::modelReady);
    QSignalSpy failed(&f.generator, &qt::Generator::loadFailed);
    f.generator.load({.path = "first.gguf"});
    f.generator.load({.path = "second.gguf"});
    REQUIRE(ready.wait(kPatienceMs));
    CHECK(ready.size() == 1);
    CHECK(failed.isEmpty());
    CHECK(f.generator.model().has_value());
}

TEST_CASE("Generator: a cancelled load says so and keeps the model before", "[gui][quick]") {
    Fixture f;
    f.load();
    f.control->load_time = std::chrono::milliseconds(2000);
    QSignalSpy failed(&f.generator, &qt::Generator::loadFailed);
    f.generator.load({.path = "slow.gguf"});
    QTest::qWait(50);
    QElapsedTimer clock;
    clock.start();
    f.generator.cancelLoad();
    REQUIRE(failed.wait(kPatienceMs));
    CHECK(clock.elapsed() < 1000);
    CHECK(failed.first().first().value<Error>().code == ErrorCode::cancelled);
}

TEST_CASE("Generator: what was a thought all along comes again as one", "[gui][quick]") {
    Fixture f;
    f.control->chat_template =
        "{% for m in messages %}<user>{{ m.content }}<end>{% endfor %}"
        "<assistant>{# <think> </think> #}";
    f.load();
    f.control->step_time = std::chrono::milliseconds(2);
    f.control->script = answering("one two three four\n</think>\n\nfive");
    QString text, thought;
    QObject::connect(&f.generator, &qt::Generator::textArrived, &f.generator,
                     [&](const QString& more) { text += more; });
    QObject::connect(&f.generator, &qt::Generator::thoughtArrived, &f.generator,
                     [&](const QString& more) { thought += more; });
    QObject::connect(&f.generator, &qt::Generator::textWasThought, &f.generator,
                     [&] { thought += std::exchange(text, {}); });
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    GenerationRequest request;
    request.messages = {{.role = "user", .content = "Count."}};
    request.sampling.temperature = 0;
    f.generator.send(request);
    REQUIRE(finished.wait(kPatienceMs));
    CHECK(thought == QStringLiteral("one two three four"));
    CHECK(text == QStringLiteral("five"));
}

TEST_CASE("Generator: turns that are dropped and a context that grows are told", "[gui][quick]") {
    Fixture f;
    f.control->context_tokens = 256;
    f.control->trained_context = 1024;
    f.control->chat_template =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}<assistant>";
    f.load();
    GenerationRequest request;
    for (int i = 0; i < 6; ++i) {
        request.messages.push_back({.role = "user", .content = std::string(30, 'q')});
        request.messages.push_back({.role = "assistant", .content = std::string(30, 'a')});
    }
    request.messages.push_back({.role = "user", .content = "last"});
    request.sampling.temperature = 0;
    request.max_tokens = 10;
    QSignalSpy dropped(&f.generator, &qt::Generator::turnsDropped);
    QSignalSpy grown(&f.generator, &qt::Generator::contextGrown);
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    request.overflow = Overflow::drop_oldest;
    f.generator.send(request);
    REQUIRE(finished.wait(kPatienceMs));
    REQUIRE(dropped.size() == 1);
    CHECK_FALSE(dropped.first().first().value<DroppedTurns>().indices.empty());
    CHECK(grown.isEmpty());
    request.overflow = Overflow::grow;
    f.generator.send(request);
    REQUIRE(finished.wait(kPatienceMs));
    REQUIRE(grown.size() == 1);
    CHECK(grown.first().first().toUInt() > 256);
    CHECK(f.generator.model()->context_tokens == grown.first().first().toUInt());
}

TEST_CASE("Generator: lets go of a model, also of one that is loading or writing", "[gui][quick]") {
    Fixture f;
    f.load();
    QSignalSpy unloaded(&f.generator, &qt::Generator::unloaded);
    QSignalSpy finished(&f.generator, &qt::Generator::finished);
    f.control->step_time = std::chrono::milliseconds(5);
    f.generator.send(Fixture::request(0));
    f.generator.unload();
    REQUIRE(unloaded.wait(kPatienceMs));
    CHECK(f.control->num_models == 0);
    CHECK_FALSE(f.generator.model().has_value());
    REQUIRE(QTest::qWaitFor([&] { return finished.size() == 1; }, kPatienceMs));

    f.control->step_time = std::chrono::milliseconds(0);
    f.control->load_time = std::chrono::milliseconds(5000);
    QSignalSpy ready(&f.generator, &qt::Generator::modelReady);
    f.generator.load({.path = "slow.gguf"});
    QElapsedTimer clock;
    clock.start();
    f.generator.unload();
    REQUIRE(unloaded.wait(kPatienceMs));
    CHECK(clock.elapsed() < 2000);
    CHECK(ready.isEmpty());
    CHECK_FALSE(f.generator.isLoading());
}

TEST_CASE("Generator: may be destroyed while it loads or writes", "[gui][quick][threads]") {
    {
        Fixture f;
        f.load();
        f.control->step_time = std::chrono::milliseconds(5);
        f.generator.send(Fixture::request(0));
        QTest::qWait(20);
    }
    {
        Fixture f;
        f.control->load_time = std::chrono::milliseconds(2000);
        f.generator.load({.path = "slow.gguf"});
        QTest::qWait(20);
    }
    QTest::qWait(20);  // late events find nobody and do no harm
    SUCCEED("nothing crashed");
}
