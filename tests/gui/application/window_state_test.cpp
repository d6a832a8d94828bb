// SPDX-License-Identifier: Apache-2.0
#include "application/window_state.h"

#include <QSplitter>
#include <QSystemTrayIcon>

#include "conversations/sidebar.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Longer than the window waits before it stores where it is.
constexpr int kSavedMs = 700;

}  // namespace

TEST_CASE("WindowState: size, place and sidebar are there again, even after a crash", "[gui]") {
    WindowFixture f;
    f.window->resize(700, 600);
    f.window->move(20, 30);
    auto* splitter = f.window->findChild<QSplitter*>();
    REQUIRE(splitter != nullptr);
    splitter->setSizes({240, 460});
    emit splitter->splitterMoved(240, 1);
    QTest::qWait(kSavedMs);
    const QRect place = f.window->geometry();
    const QList<int> sizes = splitter->sizes();
    f.openWindow();  // without a word of goodbye: closeEvent is not called
    CHECK(f.window->geometry() == place);
    CHECK(f.window->findChild<QSplitter*>()->sizes() == sizes);

    QTest::keyClick(f.window.get(), Qt::Key_B, Qt::ControlModifier);
    CHECK_FALSE(f.window->findChild<Sidebar*>()->isVisible());
    f.openWindow();
    CHECK_FALSE(f.window->findChild<Sidebar*>()->isVisible());
    QTest::keyClick(f.window.get(), Qt::Key_B, Qt::ControlModifier);
    CHECK(f.window->findChild<Sidebar*>()->isVisible());
    QTest::qWait(1);
    CHECK(f.window->findChild<QSplitter*>()->sizes().first() == sizes.first());
}

TEST_CASE("WindowState: what a narrow window hides is not remembered", "[gui][quick]") {
    WindowFixture f;
    f.window->resize(400, 600);
    QTest::qWait(1);
    CHECK_FALSE(f.window->findChild<Sidebar*>()->isVisible());
    f.window->resize(790, 600);
    QTest::qWait(1);
    CHECK(f.window->findChild<Sidebar*>()->isVisible());
}

TEST_CASE("Tray: off by default; without a tray a closed window ends the app", "[gui][quick]") {
    WindowFixture f;
    CHECK_FALSE(f.settings->trayIcon());
    CHECK(f.window->findChildren<QSystemTrayIcon*>().isEmpty());
    f.settings->setTrayIcon(true);
    // Here is no tray: an invisible app that nobody can reach would stay.
    REQUIRE_FALSE(QSystemTrayIcon::isSystemTrayAvailable());
    CHECK(QApplication::quitOnLastWindowClosed());
    CHECK(f.window->close());
    CHECK_FALSE(f.window->isVisible());
}
