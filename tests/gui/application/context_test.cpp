// SPDX-License-Identifier: Apache-2.0
// What a person sees of the context: how full it is, and what can be done when it is.
#include <QLabel>
#include <QPushButton>

#include "chat/chat_page.h"
#include "chat/composer.h"
#include "conversations/sidebar.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct ContextFixture : WindowFixture {
    /// What the label beside the message says; -1: nothing.
    [[nodiscard]] int shownTokens() const {
        for (const QLabel* label : window->chatPage().composer().findChildren<QLabel*>()) {
            if (!label->isVisible() || !label->text().endsWith(QStringLiteral("tokens"))) continue;
            CHECK(label->text().contains(QStringLiteral(" / 4,096 ")));
            return QLocale().toInt(label->text().section(QLatin1Char(' '), 0, 0));
        }
        return -1;
    }
    QStringList choices() {
        QStringList texts;
        auto* notice = find<QFrame>("notice");
        for (const QPushButton* button : notice->findChildren<QPushButton*>())
            if (button->isVisible()) texts.append(button->text());
        return texts;
    }
    QPushButton* choice(const char* text) {
        for (auto* button : find<QFrame>("notice")->findChildren<QPushButton*>())
            if (button->isVisible() && button->text() == QLatin1String(text)) return button;
        return nullptr;
    }
    void fill() {
        answer(std::string(1700, 'a'));
        say("first question");
        say("second question");
        answer(std::string(1700, 'b'));
        say("third question");
    }
};

}  // namespace

TEST_CASE("Context: the tokens are shown while a person types, with the draft", "[gui][quick]") {
    ContextFixture f;
    f.say("Hello");
    // With the template around it: "<user>Hello<end><assistant>An answer.<end>", a token a byte.
    constexpr int kLeast = 5 + 10;
    REQUIRE(QTest::qWaitFor([&] { return f.shownTokens() > kLeast; }, kPatienceMs));
    const int before = f.shownTokens();
    f.type("abcdefgh");
    // The fake has a token for each byte, and one for each end of a turn.
    CHECK(QTest::qWaitFor([&] { return f.shownTokens() >= before + 8; }, kPatienceMs));
    CHECK(f.shownTokens() <= before + 12);
    f.edit()->clear();
    CHECK(QTest::qWaitFor([&] { return f.shownTokens() == before; }, kPatienceMs));
}

TEST_CASE("Context: when it is full a person is asked, and what was chosen is said",
          "[gui][quick]") {
    ContextFixture f;
    f.fill();
    const QStringList choices = f.choices();
    for (const char* wanted :
         {"Leave out the oldest", "Summarise the oldest", "Enlarge the context"})
        CHECK(choices.contains(QString::fromLatin1(wanted)));
    CHECK(f.find<QLabel>("noticeText")->text().contains(QStringLiteral("context is full")));
    CHECK(f.window->session().turns().last().isCut);
    SECTION("the oldest are left out, by name") {
        QSignalSpy ended(&f.window->session(), &ChatSession::replyEnded);
        f.choice("Leave out the oldest")->click();
        REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
        const Turn reply = f.window->session().turns().last();
        CHECK(reply.content.size() == 1700);
        REQUIRE(reply.notes.size() == 1);
        CHECK(reply.notes.first().contains(QStringLiteral("first question")));
    }
    SECTION("nothing happens until then, and the choice can be put away") {
        const auto before = f.window->session().turns();
        f.find<QPushButton>("noticeClose")->click();
        QTest::qWait(50);
        CHECK(f.window->session().turns().last().content == before.last().content);
        CHECK_FALSE(f.window->session().isBusy());
    }
}

TEST_CASE("Context: another chat, or a pause, does not make the model read all again",
          "[gui][quick]") {
    WindowFixture f;
    f.control->context_tokens = 8192;
    f.load(f.modelFile());
    f.answer(std::string(1000, 'a'));
    f.say("In the first chat");
    const ChatId first = f.window->session().chat();
    f.answer("short");
    emit f.window->findChild<Sidebar*>()->newChatRequested(false);
    f.say("In the second chat");
    QTest::qWait(500);  // idle
    emit f.window->findChild<Sidebar*>()->chatSelected(first);
    const uint32_t before = f.control->num_rows;
    f.say("Back again");
    // A thousand tokens of the first chat were still there.
    CHECK(f.control->num_rows - before < 400);
}
