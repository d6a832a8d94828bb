// SPDX-License-Identifier: Apache-2.0
// Everything can be reached and used by keys alone, and it is seen where the focus is.
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QScrollArea>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeView>

#include "chat/chat_page.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

constexpr int kMostStops = 200;

std::string describe(const QWidget* widget) {
    return QStringLiteral("%1 “%2” %3")
        .arg(QLatin1String(widget->metaObject()->className()), widget->accessibleName(),
             widget->objectName())
        .toStdString();
}

/// What the Tab key should stop at.
QVector<QWidget*> expectedStops(const QWidget& window) {
    QVector<QWidget*> stops;
    for (QWidget* widget : window.findChildren<QWidget*>()) {
        const bool isStop = (widget->focusPolicy() & Qt::TabFocus) && widget->isVisible() &&
                            widget->isEnabled() && widget->focusProxy() == nullptr;
        if (isStop) stops.append(widget);
    }
    return stops;
}

/// Presses a key until the focus is back where it was.
QVector<QWidget*> walk(Qt::Key key) {
    QVector<QWidget*> stops;
    for (int i = 0; i < kMostStops; ++i) {
        QWidget* focus = QApplication::focusWidget();
        REQUIRE(focus != nullptr);
        if (stops.contains(focus)) {
            CHECK(focus == stops.first());
            return stops;
        }
        stops.append(focus);
        QTest::keyClick(focus, key);
    }
    FAIL("the focus never comes back");
    return stops;
}

/// By Tab every control of the page, once; back the same way.
void checkWalk(WindowFixture& f) {
    f.window->activateWindow();
    QApplication::setActiveWindow(f.window.get());
    f.find<QLineEdit>("searchField")->setFocus();
    QVector<QWidget*> there = walk(Qt::Key_Tab);
    for (const QWidget* stop : expectedStops(*f.window)) {
        INFO(describe(stop));
        CHECK(there.contains(stop));
    }
    QVector<QWidget*> back = walk(Qt::Key_Backtab);
    std::reverse(back.begin() + 1, back.end());
    CHECK(back == there);
}

QImage pictureOf(QWidget& window, const QWidget& part) {
    constexpr int kAround = 16;
    const QRect place(part.mapTo(&window, QPoint()), part.size());
    return window.grab(place.adjusted(-kAround, -kAround, kAround, kAround)).toImage();
}

/// The focus changes how a control looks.
void checkRings(WindowFixture& f, QWidget* elsewhere) {
    for (QWidget* stop : expectedStops(*f.window)) {
        if (stop == elsewhere) continue;
        stop->setFocus(Qt::TabFocusReason);
        for (QScrollArea* area : f.window->findChildren<QScrollArea*>())
            if (area->isAncestorOf(stop)) area->ensureWidgetVisible(stop);
        QTest::qWait(0);
        REQUIRE(stop->hasFocus());
        const QImage with = pictureOf(*f.window, *stop);
        elsewhere->setFocus(Qt::TabFocusReason);
        QTest::qWait(0);
        INFO(describe(stop));
        CHECK(with != pictureOf(*f.window, *stop));
    }
}

}  // namespace

TEST_CASE("Keyboard: Tab reaches all controls of all pages", "[gui][quick]") {
    WindowFixture f;
    f.say("Hello");
    SECTION("chat") {
        checkWalk(f);
    }
    SECTION("settings") {
        QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
        checkWalk(f);
    }
    SECTION("models") {
        QTest::keyClick(f.window.get(), Qt::Key_M, Qt::ControlModifier);
        checkWalk(f);
    }
}

TEST_CASE("Keyboard: the focus is seen on all controls", "[gui][quick]") {
    WindowFixture f;
    f.say("Hello");
    f.type("draft");
    QApplication::setActiveWindow(f.window.get());
    for (const ThemeChoice theme : {ThemeChoice::light, ThemeChoice::dark}) {
        Theme::instance().apply(theme, 100);
        checkRings(f, f.edit());
        for (const Qt::Key page : {Qt::Key_Comma, Qt::Key_M}) {
            QTest::keyClick(f.window.get(), page, Qt::ControlModifier);
            QTest::qWait(50);
            checkRings(f, f.find<QLineEdit>("searchField"));
        }
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
    }
}

TEST_CASE("Keyboard: what has the focus is scrolled into sight", "[gui][quick]") {
    WindowFixture f;
    QApplication::setActiveWindow(f.window.get());
    QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
    f.find<QLineEdit>("searchField")->setFocus();
    for (const QWidget* stop : walk(Qt::Key_Tab)) Q_UNUSED(stop);
    for (int i = 0; i < kMostStops; ++i) {
        QWidget* focus = QApplication::focusWidget();
        QTest::keyClick(focus, Qt::Key_Tab);
        focus = QApplication::focusWidget();
        INFO(describe(focus));
        CHECK(focus->visibleRegion().boundingRect().height() >= qMin(focus->height(), 24));
        if (focus->objectName() == QLatin1String("searchField")) break;
    }
}
