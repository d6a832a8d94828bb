// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_view.h"

#include <QAbstractTextDocumentLayout>
#include <QAccessible>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QTextBlock>
#include <QTextBrowser>
#include <QToolButton>
#include <cstdlib>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "look/theme.h"

using namespace hokku::desktop;

namespace {

QString text(const char* utf8) {
    return QString::fromUtf8(utf8);
}

Turn turn(MessageId id, const char* role, const QString& content) {
    Turn turn;
    turn.id = id;
    turn.role = QString::fromLatin1(role);
    turn.content = content;
    return turn;
}

QString manyParagraphs(int count) {
    QString result;
    for (int i = 0; i < count; ++i) result += QStringLiteral("Paragraph %1.\n\n").arg(i);
    return result;
}

struct Fixture {
    Fixture() {
        view.resize(900, 600);
        view.show();
        settle();
    }
    QApplication& application = hokku::testing::application();
    ChatView view{};
    QTextBrowser& browser = *view.findChild<QTextBrowser*>(QStringLiteral("transcript"));
    QScrollBar& bar = *browser.verticalScrollBar();

    /// Until the timers of the view have run.
    static void settle() { QTest::qWait(60); }
    /// Of the names that are shown.
    QVector<QToolButton*> buttons(const char* name) {
        QVector<QToolButton*> shown;
        for (auto* button : view.findChildren<QToolButton*>(QString::fromLatin1(name)))
            if (button->isVisible()) shown.append(button);
        return shown;
    }
    void startReply(const QString& soFar = {}) {
        Turn reply = turn(2, "assistant", soFar);
        reply.state = MessageState::streaming;
        view.setTurns({turn(1, "user", text("Question")), reply});
        settle();
    }
    /// The place of a text in the viewport.
    QPoint place(const QString& wanted) {
        const QTextCursor found = browser.document()->find(wanted);
        REQUIRE_FALSE(found.isNull());
        QTextCursor middle(browser.document());
        middle.setPosition((found.selectionStart() + found.selectionEnd()) / 2);
        return browser.cursorRect(middle).center();
    }
    void hover(const QString& wanted) {
        const QPointF at = place(wanted);
        QMouseEvent move(QEvent::MouseMove, at, browser.viewport()->mapToGlobal(at), Qt::NoButton,
                         Qt::NoButton, {});
        QApplication::sendEvent(browser.viewport(), &move);
    }
    void click(const QString& wanted) {
        const QPoint at = place(wanted);
        QTest::mouseClick(browser.viewport(), Qt::LeftButton, {}, at);
        settle();
    }
};

}  // namespace

TEST_CASE("ChatView: it follows the text only while it is at the bottom", "[gui][quick]") {
    Fixture f;
    f.startReply(manyParagraphs(40));
    REQUIRE(f.bar.maximum() > 0);
    CHECK(f.bar.value() == f.bar.maximum());
    CHECK(f.buttons("jumpButton").isEmpty());
    const int before = f.bar.maximum();
    f.view.streamText(manyParagraphs(20));
    Fixture::settle();
    CHECK(f.bar.maximum() > before);
    CHECK(f.bar.value() == f.bar.maximum());

    f.bar.setValue(before / 2);
    f.view.streamText(manyParagraphs(20));
    Fixture::settle();
    CHECK(f.bar.value() == before / 2);
    REQUIRE(f.buttons("jumpButton").size() == 1);
    f.buttons("jumpButton")[0]->click();
    CHECK(f.bar.value() == f.bar.maximum());
    CHECK(f.buttons("jumpButton").isEmpty());
    f.view.streamText(manyParagraphs(5));
    Fixture::settle();
    CHECK(f.bar.value() == f.bar.maximum());
}

TEST_CASE("ChatView: a message that is sent is seen", "[gui][quick]") {
    Fixture f;
    f.view.setTurns({turn(1, "user", text("a")), turn(2, "assistant", manyParagraphs(60))});
    Fixture::settle();
    f.view.setScrollPosition(0);
    CHECK(f.bar.value() == 0);
    f.view.appendTurn(turn(3, "user", text("b")));
    CHECK(f.bar.value() == f.bar.maximum());
}

TEST_CASE("ChatView: the place is kept and can be found", "[gui][quick]") {
    Fixture f;
    QVector<Turn> turns;
    for (int i = 1; i <= 30; ++i)
        turns.append(turn(i, i % 2 == 1 ? "user" : "assistant", manyParagraphs(10)));
    f.view.setTurns(turns);
    Fixture::settle();
    CHECK(f.view.scrollPosition() == 1);
    f.view.setScrollPosition(0.5);
    CHECK(f.view.scrollPosition() == Approx(0.5).margin(0.01));
    f.view.setTurns(turns);  // As when a later turn changes.
    CHECK(f.view.scrollPosition() == Approx(0.5).margin(0.01));
    Theme::instance().apply(ThemeChoice::dark, 100);
    Fixture::settle();
    CHECK(f.view.scrollPosition() == Approx(0.5).margin(0.01));
    Theme::instance().apply(ThemeChoice::light, 100);
    Fixture::settle();
    f.view.scrollToTurn(1);
    CHECK(f.bar.value() < 40);
    f.view.scrollToTurn(30);
    CHECK(f.view.scrollPosition() > 0.9);
}

TEST_CASE("ChatView: a long conversation opens in slices, from its end", "[gui][quick]") {
    Fixture f;
    QVector<Turn> turns;
    for (int i = 1; i <= 400; ++i)
        turns.append(turn(i, i % 2 == 1 ? "user" : "assistant",
                          QStringLiteral("Turn %1.\n\n").arg(i) + manyParagraphs(20)));
    f.view.setSliceMs(0);
    f.view.setTurns(turns);
    const auto isThere = [&](const char* wanted) {
        return f.browser.toPlainText().contains(text(wanted));
    };
    CHECK(isThere("Turn 400."));
    CHECK_FALSE(isThere("Turn 399."));
    constexpr int kEnoughToRead = 2000;
    while (f.bar.maximum() < kEnoughToRead) QCoreApplication::processEvents();
    CHECK_FALSE(isThere("Turn 300."));
    f.view.setSliceMs(12);
    const auto finish = [&] {
        return QTest::qWaitFor([&] { return isThere("Turn 1.\n"); }, 120'000);
    };
    SECTION("and stays there") {
        REQUIRE(finish());
        CHECK(f.view.scrollPosition() == 1);
        CHECK(f.browser.toPlainText().count(text("Paragraph 19.")) == 400);
    }
    SECTION("and comes to where it was left") {
        f.view.setScrollPosition(0.25);
        REQUIRE(finish());
        CHECK(f.view.scrollPosition() == Approx(0.25).margin(0.01));
    }
    SECTION("and what is read meanwhile stands still") {
        f.bar.setValue(f.bar.maximum() - 700);
        const QString seen = f.browser.cursorForPosition({16, 100}).block().text();
        const int before = f.bar.maximum();
        REQUIRE(finish());
        CHECK(f.bar.maximum() > 2 * before);
        CHECK(f.browser.cursorForPosition({16, 100}).block().text() == seen);
        // Lines are laid out to whole pixels.
        CHECK(std::abs(f.bar.maximum() - f.bar.value() - 700) <= 4);
    }
    SECTION("and finds a turn that is not there yet") {
        f.view.scrollToTurn(7);
        QString top;
        for (int y = 0; y < 200; y += 10)
            top += f.browser.cursorForPosition({16, y}).block().text();
        CHECK(top.contains(text("Turn 7.")));
    }
}

TEST_CASE("ChatView: buttons of turns report what is wanted", "[gui][quick]") {
    Fixture f;
    Turn reply = turn(2, "assistant", text("Answer"));
    reply.version = 2;
    reply.numVersions = 3;
    reply.state = MessageState::stopped;
    reply.details = text("12 tokens");
    f.view.setTurns({turn(1, "user", text("Question")), reply});
    Fixture::settle();
    const auto check = [&](const char* button, int nth, auto signal, MessageId id) {
        CAPTURE(button);
        QSignalSpy spy(&f.view, signal);
        const auto buttons = f.buttons(button);
        REQUIRE(buttons.size() > nth);
        buttons[nth]->click();
        REQUIRE(spy.size() == 1);
        CHECK(spy[0][0].toLongLong() == id);
    };
    REQUIRE(f.buttons("turn-copy").size() == 2);
    QSignalSpy copied(&f.view, &ChatView::copyRequested);
    for (QToolButton* button : f.buttons("turn-copy")) button->click();
    CHECK(copied.size() == 2);
    check("turn-regenerate", 0, &ChatView::regenerateRequested, 2);
    check("turn-continue", 0, &ChatView::continueRequested, 2);
    CHECK(f.buttons("turn-edit").size() == 2);
    CHECK(f.buttons("turn-delete").size() == 2);
    QSignalSpy versions(&f.view, &ChatView::versionRequested);
    f.buttons("turn-previous")[0]->click();
    f.buttons("turn-next")[0]->click();
    REQUIRE(versions.size() == 2);
    CHECK(versions[0][1].toInt() == -1);
    CHECK(versions[1][1].toInt() == 1);
    f.buttons("turn-info")[0]->click();
    CHECK(f.browser.toPlainText().contains(text("12 tokens")));
    f.buttons("turn-info")[0]->click();
    CHECK_FALSE(f.browser.toPlainText().contains(text("12 tokens")));
}

TEST_CASE("ChatView: a reply that is written has no buttons yet", "[gui][quick]") {
    Fixture f;
    f.startReply(text("So"));
    CHECK(f.buttons("turn-regenerate").isEmpty());
    CHECK(f.buttons("turn-copy").size() == 1);
    f.view.updateTurn(turn(2, "assistant", text("So far")));
    Fixture::settle();
    CHECK(f.buttons("turn-regenerate").size() == 1);
    CHECK(f.buttons("turn-continue").isEmpty());
}

TEST_CASE("ChatView: buttons are there only for what is seen", "[gui][quick]") {
    Fixture f;
    QVector<Turn> turns;
    for (int i = 1; i <= 200; ++i) turns.append(turn(i, "user", text("x")));
    f.view.setTurns(turns);
    Fixture::settle();
    CHECK(f.buttons("turn-copy").size() < 20);
    CHECK(f.view.findChildren<QToolButton*>(QStringLiteral("turn-copy")).size() < 40);
}

TEST_CASE("ChatView: everything that takes the focus has a name, and is reached by key",
          "[gui][quick]") {
    Fixture f;
    Turn reply = turn(2, "assistant", text("```py\nx = 1\n```\n"));
    reply.numVersions = 2;
    reply.version = 2;
    f.view.setTurns({turn(1, "user", text("Question")), reply});
    Fixture::settle();
    QSet<QWidget*> reached;
    f.view.activateWindow();
    f.browser.setFocus(Qt::TabFocusReason);
    for (QWidget* w = f.browser.nextInFocusChain(); w != &f.browser; w = w->nextInFocusChain())
        reached.insert(w);
    int named = 0;
    for (QWidget* widget : f.view.findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->focusPolicy() == Qt::NoFocus) continue;
        if (widget == f.browser.viewport()) continue;
        CAPTURE(widget->metaObject()->className(), widget->objectName());
        CHECK_FALSE(widget->accessibleName().isEmpty());
        if (widget != &f.browser) CHECK(reached.contains(widget));
        ++named;
    }
    CHECK(named > 8);
    REQUIRE(f.buttons("code-copy").size() == 1);
    CHECK(f.buttons("code-copy")[0]->accessibleName() == text("Copy this code (Python)"));
    f.buttons("code-copy")[0]->click();
    CHECK(QApplication::clipboard()->text() == text("x = 1"));
}

TEST_CASE("ChatView: a screen reader reads the whole conversation", "[gui][quick]") {
    Fixture f;
    f.view.setTurns({turn(1, "user", text("Question")), turn(2, "assistant", text("**Answer**"))});
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(&f.browser);
    REQUIRE(interface != nullptr);
    QAccessibleTextInterface* content = interface->textInterface();
    REQUIRE(content != nullptr);
    const QString all = content->text(0, content->characterCount());
    const qsizetype you = all.indexOf(text("You:")), question = all.indexOf(text("Question"));
    const qsizetype reply = all.indexOf(text("Reply:")), answer = all.indexOf(text("Answer"));
    CHECK(you >= 0);
    CHECK(you < question);
    CHECK(question < reply);
    CHECK(reply < answer);
    CHECK(interface->text(QAccessible::Name) == text("Conversation"));
}

TEST_CASE("ChatView: nothing is loaded, whatever the text says", "[gui][quick]") {
    Fixture f;
    f.view.setTurns({turn(1, "assistant",
                          text("![a](https://a.example/b.png) <img src=\"https://a.example/c\">\n"
                               "<style>@import url(https://a.example/d)</style> "
                               "![b](file:///etc/passwd) [c](https://a.example)"))});
    Fixture::settle();
    QTextDocument& document = *f.browser.document();
    for (const char* url : {"https://a.example/b.png", "file:///etc/passwd", "c.png"})
        CHECK_FALSE(document.resource(QTextDocument::ImageResource, QUrl(text(url))).isValid());
    f.browser.setSource(QUrl(text("file:///etc/passwd")));
    CHECK(f.browser.toPlainText().contains(text("<img src=")));
    CHECK_FALSE(document.toPlainText().contains(QChar(0xFFFC)));
    // Nor could it be: the library that could is not even there.
    QFile maps(QStringLiteral("/proc/self/maps"));
    if (maps.open(QIODevice::ReadOnly)) CHECK_FALSE(maps.readAll().contains("libQt6Network"));
}

TEST_CASE("ChatView: a link is opened only after its target was seen", "[gui][quick]") {
    Fixture f;
    f.view.setTurns({turn(1, "assistant", text("See [this page](https://a.example/b?c=d).\n"))});
    Fixture::settle();
    QSignalSpy opened(&f.view, &ChatView::linkActivated);
    f.hover(text("this page"));
    auto* status = f.view.findChild<QLabel*>(QStringLiteral("linkTarget"));
    CHECK(status->isVisible());
    CHECK(status->text() == text("https://a.example/b?c=d"));
    f.click(text("this page"));
    auto* question = f.view.findChild<QMessageBox*>(QStringLiteral("linkQuestion"));
    REQUIRE(question != nullptr);
    CHECK(question->informativeText() == text("https://a.example/b?c=d"));
    CHECK(question->textFormat() == Qt::PlainText);
    CHECK(opened.isEmpty());
    SECTION("and agreed to") {
        for (QAbstractButton* button : question->buttons())
            if (question->buttonRole(button) == QMessageBox::AcceptRole) button->click();
        REQUIRE(opened.size() == 1);
        CHECK(opened[0][0].toUrl() == QUrl(text("https://a.example/b?c=d")));
    }
    SECTION("never when refused") {
        question->reject();
        CHECK(opened.isEmpty());
    }
}

TEST_CASE("ChatView: a selection over turns is copied as plain text or Markdown", "[gui][quick]") {
    Fixture f;
    f.view.setTurns({turn(1, "user", text("Question")),
                     turn(2, "assistant", text("An **answer** [a](https://b.example)"))});
    f.browser.selectAll();
    CHECK(f.view.selectedText(false) == text("Question\n\nAn answer a"));
    CHECK(f.view.selectedText(true) == text("Question\n\nAn **answer** [a](https://b.example)"));
    QTest::keyClick(&f.browser, Qt::Key_C, Qt::ControlModifier);
    const QMimeData* copied = QApplication::clipboard()->mimeData();
    CHECK(copied->text() == text("Question\n\nAn answer a"));
    CHECK_FALSE(copied->hasHtml());
    f.view.copySelection(true);
    CHECK(QApplication::clipboard()->text().contains(text("**answer**")));
}

TEST_CASE("ChatView: a click unfolds a thought", "[gui][quick]") {
    Fixture f;
    Turn reply = turn(2, "assistant", text("Answer"));
    reply.thought = text("Deep thought");
    reply.thoughtMs = 72000;
    f.view.setTurns({turn(1, "user", text("Question")), reply});
    Fixture::settle();
    CHECK_FALSE(f.browser.toPlainText().contains(text("Deep thought")));
    f.click(text("Thought for 1 min 12 s"));
    CHECK(f.browser.toPlainText().contains(text("Deep thought")));
    CHECK(f.view.findChild<QMessageBox*>() == nullptr);
    f.click(text("Thought for"));
    CHECK_FALSE(f.browser.toPlainText().contains(text("Deep thought")));
}

TEST_CASE("ChatView: with no turns it says what to do", "[gui][quick]") {
    Fixture f;
    f.view.setEmptyState(text("A title"), text("A hint"));
    const auto isShown = [&](const char* wanted) {
        for (const QLabel* label : f.view.findChildren<QLabel*>())
            if (label->text() == text(wanted)) return label->isVisible();
        return false;
    };
    CHECK(isShown("A title"));
    CHECK(isShown("A hint"));
    f.view.appendTurn(turn(1, "user", text("a")));
    CHECK_FALSE(isShown("A title"));
    f.view.setTurns({});
    CHECK(isShown("A title"));
}

TEST_CASE("ChatView: people's messages stand on the right at every width", "[gui][quick]") {
    Fixture f;
    f.view.setTurns({turn(1, "user", text("Short"))});
    for (const int width : {1400, 900, 420}) {
        CAPTURE(width);
        f.view.resize(width, 600);
        Fixture::settle();
        const QTextBlock block = f.browser.document()->find(text("Short")).block();
        CHECK(block.blockFormat().leftMargin() > f.browser.viewport()->width() / 2);
        CHECK(f.bar.value() == 0);
        CHECK(f.browser.horizontalScrollBar()->maximum() == 0);
        CHECK(f.browser.viewport()->width() <= kReadingWidth + 32);
    }
}

TEST_CASE("ChatView: the ground follows the theme at once", "[gui][quick]") {
    hokku::testing::application();
    Theme::instance().apply(ThemeChoice::light, 100);
    ChatView view;
    view.resize(800, 600);
    view.show();
    for (const ThemeChoice theme : {ThemeChoice::dark, ThemeChoice::light}) {
        Theme::instance().apply(theme, 100);
        QTest::qWait(0);
        const QImage picture = view.grab().toImage();
        const QColor ground = Theme::instance().colors().ground;
        CHECK(picture.pixelColor(10, 10) == ground);
        CHECK(picture.pixelColor(picture.width() / 2, picture.height() - 10) == ground);
    }
}

TEST_CASE("ChatView: a line of code that is broken hangs behind its indentation", "[gui][quick]") {
    Fixture f;
    const QString line =
        QStringLiteral("        value = ") + QStringLiteral("abcdefgh(1) + ").repeated(20);
    f.view.setTurns(
        {turn(1, "assistant", text("```py\nshort = 1\n") + line + text("\n\tx\n```\n"))});
    Fixture::settle();
    const auto block = [&](const char* wanted) {
        return f.browser.document()->find(text(wanted)).block();
    };
    const QTextLayout& layout = *block("value =").layout();
    REQUIRE(layout.lineCount() > 2);
    const double em =
        QFontMetricsF(Theme::instance().codeFont()).horizontalAdvance(QLatin1Char(' '));
    const auto left = [&](int n) {
        const QTextLine broken = layout.lineAt(n);
        return broken.cursorToX(broken.textStart());
    };
    // Two characters behind the eight that the line itself is set in by.
    CHECK(left(1) - left(0) == Approx(10 * em).margin(1));
    CHECK(left(2) == Approx(left(1)).margin(1));
    CHECK(layout.lineAt(1).x() + layout.lineAt(1).naturalTextWidth() <=
          f.browser.viewport()->width() - 32);
    // All lines begin at the same edge, a tab has the width of four characters.
    const auto edge = [&](const char* wanted) {
        const QTextBlock found = block(wanted);
        return found.blockFormat().leftMargin() + found.blockFormat().textIndent();
    };
    CHECK(edge("short") == Approx(edge("value =")));
    const QTextBlock tabbed = block("value =").next();
    REQUIRE(tabbed.text() == text("\tx"));
    const QTextLine first = tabbed.layout()->lineAt(0);
    CHECK(first.cursorToX(1) - first.cursorToX(0) == Approx(4 * em).margin(1));
    // What is copied is the line as it was written.
    f.browser.selectAll();
    CHECK(f.view.selectedText(false).contains(line.trimmed()));
    CHECK(f.view.selectedText(false).contains(text("\n\tx")));
}
