// SPDX-License-Identifier: Apache-2.0
// The keys of the window, each with what it does.
#include <QClipboard>
#include <QLineEdit>
#include <QProgressBar>
#include <QToolButton>

#include "chat/chat_page.h"
#include "gui/application/window_fixture.h"
#include "models/models_page.h"
#include "settings/settings_page.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

constexpr qint64 kMostStopMs = 200;

struct Keys : WindowFixture {
    Keys() {
        QApplication::setActiveWindow(window.get());
        edit()->setFocus();
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::ControlModifier) const {
        QTest::keyClick(window.get(), key, modifiers);
    }
    template <class Page>
    [[nodiscard]] bool shows() const {
        return window->findChild<Page*>()->isVisible();
    }
};

}  // namespace

TEST_CASE("Keys: Ctrl+N begins a chat, Ctrl+Shift+C copies the last reply", "[gui][quick]") {
    Keys f;
    f.answer("first *answer*");
    f.say("One");
    f.answer("second answer");
    f.say("Two");
    f.press(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    CHECK(QApplication::clipboard()->text() == QStringLiteral("second answer"));
    f.press(Qt::Key_N);
    CHECK(f.window->session().turns().isEmpty());
    CHECK(f.edit()->hasFocus());
    f.answer("third *answer*");
    f.say("Three");
    CHECK(f.store->chats()->size() == 2);
    f.press(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    CHECK(QApplication::clipboard()->text() == QStringLiteral("third *answer*"));
}

TEST_CASE("Keys: Ctrl+K goes to the search, Ctrl+B shows and hides the conversations",
          "[gui][quick]") {
    Keys f;
    auto* sidebar = f.find<QWidget>("sidebar");
    REQUIRE(sidebar->isVisible());
    f.press(Qt::Key_B);
    CHECK_FALSE(sidebar->isVisible());
    f.press(Qt::Key_K);
    CHECK(sidebar->isVisible());
    CHECK(f.find<QLineEdit>("searchField")->hasFocus());
    f.press(Qt::Key_B);
    CHECK_FALSE(sidebar->isVisible());
}

TEST_CASE("Keys: Ctrl+comma opens the settings, Ctrl+M the models, Escape the chat again",
          "[gui][quick]") {
    Keys f;
    f.press(Qt::Key_Comma);
    CHECK(f.shows<SettingsPage>());
    f.press(Qt::Key_M);
    CHECK(f.shows<ModelsPage>());
    CHECK_FALSE(f.shows<SettingsPage>());
    f.press(Qt::Key_Escape, Qt::NoModifier);
    CHECK(f.shows<ChatPage>());
    CHECK(f.edit()->hasFocus());
}

TEST_CASE("Keys: Escape stops a reply at once and keeps what there is of it", "[gui][quick]") {
    Keys f;
    f.answer(std::string(3000, 'x'));
    f.control->step_time = std::chrono::milliseconds(2);
    QSignalSpy streamed(&f.window->session(), &ChatSession::textStreamed);
    QSignalSpy ended(&f.window->session(), &ChatSession::replyEnded);
    f.type("Go on");
    QTest::keyClick(f.edit(), Qt::Key_Return);
    REQUIRE(streamed.wait(kPatienceMs));
    QElapsedTimer clock;
    clock.start();
    f.press(Qt::Key_Escape, Qt::NoModifier);
    REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
    CHECK(clock.elapsed() < kMostStopMs);
    const Turn reply = f.window->session().turns().last();
    CHECK(reply.state == MessageState::stopped);
    CHECK(reply.content.startsWith(QLatin1Char('x')));
    f.answer("fine");
    f.say("And now?");
    CHECK(f.window->session().turns().last().content == QStringLiteral("fine"));
}

TEST_CASE("Keys: while a model loads that is seen, and Escape ends it at once", "[gui][quick]") {
    Keys f;
    const auto* progress = f.window->findChild<QProgressBar*>();
    REQUIRE(progress != nullptr);
    CHECK_FALSE(progress->isVisible());
    f.control->load_time = std::chrono::milliseconds(5000);
    QSignalSpy failed(f.generator.get(), &qt::Generator::loadFailed);
    QSignalSpy steps(f.generator.get(), &qt::Generator::loadProgress);
    f.window->loadModel(f.modelFile("other.gguf"));
    REQUIRE(steps.wait(kPatienceMs));
    CHECK(progress->isVisible());
    f.type("meanwhile");  // the window works
    CHECK(f.edit()->toPlainText() == QStringLiteral("meanwhile"));
    QElapsedTimer clock;
    clock.start();
    f.press(Qt::Key_Escape, Qt::NoModifier);
    REQUIRE((!failed.isEmpty() || failed.wait(kPatienceMs)));
    CHECK(clock.elapsed() < kMostStopMs);
    CHECK_FALSE(progress->isVisible());
    f.edit()->clear();
    f.say("The model before still answers");
    CHECK(f.window->session().turns().last().content == QStringLiteral("An answer."));
}
