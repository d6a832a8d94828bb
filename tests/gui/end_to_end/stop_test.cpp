// SPDX-License-Identifier: Apache-2.0
// Esc, whatever the engine is at.
#include "chat/chat_page.h"
#include "gui/end_to_end/starter_app.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

constexpr qint64 kMostMs = 200;
constexpr int kRounds = 5;

/// Presses Esc and says how long it took until `spy` had one more.
qint64 stopAndWait(StarterApp& app, QSignalSpy& spy) {
    const qsizetype before = spy.size();
    QElapsedTimer clock;
    clock.start();
    app.press(Qt::Key_Escape);
    while (spy.size() == before) REQUIRE(spy.wait(kReplyPatienceMs));
    return clock.elapsed();
}

void waitFor(QSignalSpy& spy, qsizetype count) {
    while (spy.size() < count) REQUIRE(spy.wait(kReplyPatienceMs));
}

}  // namespace

TEST_CASE("Esc: ends decoding and reading a prompt within 200 ms", "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    StarterApp app(*model);
    app.start();
    app.load({});
    QSignalSpy ended(&app.session(), &ChatSession::replyEnded);
    for (int round = 0; round < kRounds; ++round) {
        app.press(Qt::Key_N, Qt::ControlModifier);
        QSignalSpy pieces(&app.session(), &ChatSession::textStreamed);
        app.send(QStringLiteral("Tell me a very long story, number %1.").arg(round));
        waitFor(pieces, 1 + round);
        CHECK(stopAndWait(app, ended) < kMostMs);
        CHECK(app.last().state == MessageState::stopped);
        CHECK_FALSE(app.last().content.isEmpty());
    }
    for (int round = 0; round < kRounds; ++round) {
        app.press(Qt::Key_N, Qt::ControlModifier);
        QString text = QStringLiteral("Summarise this, version %1: ").arg(round);
        for (int i = 0; i < 250; ++i)
            text += QStringLiteral("Sentence %1 is about rain on the hills. ").arg(i * (round + 3));
        app.edit()->setPlainText(text);
        QSignalSpy progress(&app.session(), &ChatSession::prefillProgress);
        QSignalSpy pieces(&app.session(), &ChatSession::textStreamed);
        QTest::keyClick(app.edit(), Qt::Key_Return);
        if (round > 0) waitFor(progress, round);
        const bool isReading =
            progress.isEmpty() || progress.last()[0].toUInt() < progress.last()[1].toUInt();
        REQUIRE(isReading);  // else the prompt is too short for this test
        CHECK(stopAndWait(app, ended) < kMostMs);
        CHECK(pieces.isEmpty());
        INFO(app.last().error.toStdString());
        CHECK(app.last().state == MessageState::stopped);
    }
    // After all that, a reply comes.
    app.session().setMaxTokens(16);
    app.press(Qt::Key_N, Qt::ControlModifier);
    const Turn reply = app.say(QStringLiteral("Name a colour."));
    CHECK(reply.state == MessageState::complete);
    CHECK_FALSE(reply.content.trimmed().isEmpty());
}

TEST_CASE("Esc: ends loading a model within 200 ms", "[gui][model]") {
    const auto model = find_model("qwen2");
    if (!model) return report_skip("the model qwen2 is not there");
    StarterApp app(*model);
    app.start();
    app.settings->setUseMapping(false);  // the weights are read, not mapped: that takes a while
    int numCancelled = 0;
    for (int round = 0; round < kRounds; ++round) {
        QSignalSpy progress(app.generator.get(), &qt::Generator::loadProgress);
        QSignalSpy failed(app.generator.get(), &qt::Generator::loadFailed);
        QSignalSpy ready(app.generator.get(), &qt::Generator::modelReady);
        app.window->loadModel(QString::fromStdString(model->string()));
        if (round > 0) waitFor(progress, round);
        if (!ready.isEmpty()) continue;  // there was nothing left to stop
        QElapsedTimer clock;
        clock.start();
        app.press(Qt::Key_Escape);
        while (failed.isEmpty() && ready.isEmpty()) QTest::qWait(1);
        CHECK(clock.elapsed() < kMostMs);
        if (failed.isEmpty()) continue;
        CHECK(failed.first().first().value<Error>().code == ErrorCode::cancelled);
        ++numCancelled;
    }
    CHECK(numCancelled > 0);
    app.settings->setUseMapping(true);
    app.load(QString::fromStdString(model->string()));
    app.session().setMaxTokens(8);
    CHECK_FALSE(app.say(QStringLiteral("Say yes.")).content.isEmpty());
}
