// SPDX-License-Identifier: Apache-2.0
// What a person has typed and where they have read to is kept as they go.
#include <QScrollBar>
#include <QSettings>
#include <QTextBrowser>

#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "conversations/sidebar.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Longer than what is kept waits for the next key.
constexpr int kSaveMs = 600;

void press(const WindowFixture& f, Qt::Key key, Qt::KeyboardModifiers modifiers) {
    QTest::keyClick(f.window.get(), key, modifiers);
}

}  // namespace

TEST_CASE("Keeping: what was typed for a new chat is there after a crash, until it is sent",
          "[gui][quick]") {
    WindowFixture f;
    f.type("half a thought");
    QTest::qWait(kSaveMs);
    // A crash writes nothing more: it must be in the file now.
    CHECK(QSettings(f.folders.settingsFile, QSettings::IniFormat)
              .value(QStringLiteral("new_draft"))
              .toString() == QStringLiteral("half a thought"));
    f.openWindow();
    CHECK(f.edit()->toPlainText() == QStringLiteral("half a thought"));
    f.say(", and the rest");
    CHECK(f.window->session().turns().first().content ==
          QStringLiteral("half a thought, and the rest"));
    press(f, Qt::Key_N, Qt::ControlModifier);
    CHECK(f.edit()->toPlainText().isEmpty());
    f.openWindow();
    CHECK(f.edit()->toPlainText().isEmpty());
}

TEST_CASE("Keeping: what was typed right before the window closes is not lost", "[gui][quick]") {
    WindowFixture f;
    f.say("Hello");
    const ChatId chat = f.window->session().chat();
    f.type("one last thought");
    f.window.reset();
    CHECK(f.store->chat(chat)->draft == QStringLiteral("one last thought"));
}

TEST_CASE("Keeping: nothing that is typed in a temporary chat is kept", "[gui][quick]") {
    WindowFixture f;
    press(f, Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
    f.type("a secret draft");
    QTest::qWait(kSaveMs);
    press(f, Qt::Key_N, Qt::ControlModifier);
    CHECK(f.edit()->toPlainText().isEmpty());
    f.window.reset();
    f.settings.reset();
    f.store.reset();
    for (const QFileInfo& file : QDir(f.folder.path()).entryInfoList(QDir::Files)) {
        QFile content(file.filePath());
        REQUIRE(content.open(QIODevice::ReadOnly));
        CHECK_FALSE(content.readAll().contains("secret"));
    }
}

TEST_CASE("Keeping: a conversation opens where it was read to, also after a crash",
          "[gui][quick]") {
    WindowFixture f;
    std::string long_answer;
    for (int i = 0; i < 120; ++i) long_answer += "Line " + std::to_string(i) + ".\n\n";
    f.answer(long_answer);
    f.say("Hello");
    const ChatId chat = f.window->session().chat();
    QScrollBar& bar = *f.window->findChild<QTextBrowser*>()->verticalScrollBar();
    REQUIRE(bar.maximum() > 500);
    bar.setValue(bar.maximum() / 2);
    QTest::qWait(kSaveMs);
    CHECK(f.store->chat(chat)->scrollPosition == Approx(0.5).margin(0.02));
    f.openWindow();
    emit f.window->findChild<Sidebar*>()->chatSelected(chat);
    QTest::qWait(100);
    CHECK(f.window->chatPage().view().scrollPosition() == Approx(0.5).margin(0.02));
}

TEST_CASE("Keeping: streamed text is on the disk within a second", "[gui][quick]") {
    WindowFixture f;
    f.answer(std::string(3000, 'x'));
    f.control->step_time = std::chrono::milliseconds(3);
    QSignalSpy streamed(&f.window->session(), &ChatSession::textStreamed);
    f.type("Go on");
    QTest::keyClick(f.edit(), Qt::Key_Return);
    REQUIRE(streamed.wait(kPatienceMs));
    QTest::qWait(1200);
    REQUIRE(f.window->session().isBusy());
    const auto other = ChatStore::open(f.folders.chatsFile());
    REQUIRE(other.ok());
    const auto messages = (*other)->messages(f.window->session().chat());
    REQUIRE(messages.ok());
    REQUIRE(messages->size() == 2);
    CHECK(messages->last().content.startsWith(QStringLiteral("xxx")));
    press(f, Qt::Key_Escape, Qt::NoModifier);
    QTest::qWait(50);
}
