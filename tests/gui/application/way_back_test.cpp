// SPDX-License-Identifier: Apache-2.0
// From the other pages back to the conversation, and where the menu of presets opens.
#include <QLabel>
#include <QMenu>
#include <QTimer>
#include <QToolButton>

#include "chat/chat_page.h"
#include "chat/composer.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"
#include "models/models_page.h"
#include "settings/language.h"
#include "settings/settings_page.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Fixture : WindowFixture {
    Fixture() { QApplication::setActiveWindow(window.get()); }
    QToolButton* back() { return find<QToolButton>("backButton"); }
    bool isInChat() { return window->chatPage().isVisible(); }
    QString title() { return find<QLabel>("heading")->text(); }
};

}  // namespace

TEST_CASE("MainWindow: models and settings show a way back to the chat", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    CHECK_FALSE(f.back()->isVisible());
    for (const char* way : {"modelButton", "settingsButton"}) {
        CAPTURE(way);
        f.find<QToolButton>(way)->click();
        REQUIRE_FALSE(f.isInChat());
        REQUIRE(f.back()->isVisible());
        CHECK(f.back()->accessibleName() == QStringLiteral("Back to the chat"));
        f.back()->click();
        CHECK(f.isInChat());
        CHECK_FALSE(f.back()->isVisible());
        CHECK(f.edit()->hasFocus());
    }
}

TEST_CASE("MainWindow: the way back can be taken by keys, and names the page", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
    CHECK(f.title() == QStringLiteral("Settings"));
    f.back()->setFocus(Qt::TabFocusReason);
    REQUIRE(f.back()->hasFocus());
    QTest::keyClick(f.back(), Qt::Key_Space);
    CHECK(f.isInChat());
    CHECK(f.title() == QStringLiteral("Hello"));
}

TEST_CASE("MainWindow: the way back speaks the language of the app", "[gui][quick]") {
    Fixture f;
    Language language;
    QTest::keyClick(f.window.get(), Qt::Key_M, Qt::ControlModifier);
    language.apply(QStringLiteral("de"));
    QApplication::processEvents();
    CHECK(f.back()->accessibleName() == QStringLiteral("Zurück zum Chat"));
    CHECK(f.title() == QStringLiteral("Modelle"));
    language.apply(QStringLiteral("en"));
    QApplication::processEvents();
    CHECK(f.back()->accessibleName() == QStringLiteral("Back to the chat"));
}

TEST_CASE("PresetButton: its menu leaves the message that is written in sight", "[gui][quick]") {
    Fixture f;
    f.type("What I am writing");
    auto* button = f.find<PresetButton>("presetButton");
    QRect menu;
    QTimer::singleShot(0, button, [&] {
        menu = button->menu()->geometry();
        button->menu()->close();
    });
    button->showMenu();
    auto* composer = f.find<Composer>("composer");
    const QRect box(composer->mapToGlobal(QPoint()), composer->size());
    REQUIRE(menu.isValid());
    CHECK_FALSE(menu.intersects(box));
    CHECK(box.top() - menu.bottom() <= kGrid);
    CHECK(menu.left() >= box.left());
    CHECK(menu.left() <= box.right());
}
