// SPDX-License-Identifier: Apache-2.0
// Scripts that run to the left, and the window mirrored for them.
#include <QAbstractTextDocumentLayout>
#include <QAccessible>
#include <QTest>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>

#include "chat/chat_view.h"
#include "chat/turn_formats.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "look/theme.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Mirrors the app for as long as it lives.
class Mirrored {
  public:
    Mirrored() { QApplication::setLayoutDirection(Qt::RightToLeft); }
    ~Mirrored() { QApplication::setLayoutDirection(Qt::LeftToRight); }
    Mirrored(const Mirrored&) = delete;
    Mirrored& operator=(const Mirrored&) = delete;
};

const QString kMixed = QStringLiteral(
    "שלום עולם\n\nEnglish שלום\n\nمرحبا English\n\n- פריט\n\n```python\n"
    "תגובה = 1\n```\n\n| אלף | בית |\n|---|---|\n| גימל | דלת |\n");

struct View {
    ChatView view;
    View() {
        Theme::instance().apply(ThemeChoice::light, 100);
        view.resize(900, 700);
        view.show();
        Turn person, reply;
        person.id = 1;
        person.role = QStringLiteral("user");
        person.content = QStringLiteral("Hi");
        reply.id = 2;
        reply.role = QStringLiteral("assistant");
        reply.content = kMixed;
        view.setTurns({person, reply});
        QTest::qWait(50);
    }
    [[nodiscard]] QTextDocument& document() const {
        return *view.findChild<QTextBrowser*>()->document();
    }
    [[nodiscard]] QTextBlock block(const char* text) const {
        const QTextCursor found = document().find(QString::fromUtf8(text));
        REQUIRE_FALSE(found.isNull());
        return found.block();
    }
};

}  // namespace

TEST_CASE("RightToLeft: a paragraph runs as its first letter does", "[gui][quick]") {
    application();
    const View view;
    CHECK(view.block("שלום עולם").textDirection() == Qt::RightToLeft);
    CHECK(view.block("English שלום").textDirection() == Qt::LeftToRight);
    CHECK(view.block("مرحبا").textDirection() == Qt::RightToLeft);
    const QTextBlock item = view.block("פריט");
    CHECK(item.textDirection() == Qt::RightToLeft);
    CHECK(item.blockFormat().rightMargin() > 0);
    CHECK(item.blockFormat().leftMargin() == 0);
}

TEST_CASE("RightToLeft: code always runs to the right", "[gui][quick]") {
    application();
    const View view;
    CHECK(view.block("תגובה").textDirection() == Qt::LeftToRight);
}

TEST_CASE("RightToLeft: a table begins at the right with its first column", "[gui][quick]") {
    application();
    const View view;
    const QTextTable* table = QTextCursor(view.block("גימל")).currentTable();
    REQUIRE(table != nullptr);
    const QAbstractTextDocumentLayout* layout = view.document().documentLayout();
    CHECK(layout->blockBoundingRect(view.block("גימל")).left() >
          layout->blockBoundingRect(view.block("דלת")).left());
    CHECK(layout->frameBoundingRect(const_cast<QTextTable*>(table)).right() >
          kReadingWidth - kColumnMargin);
}

namespace {

/// Three columns, the middle cell of the second row empty, then a table that runs to the right.
const char* const kTables =
    "לפני\n\n| אלף | בית | גימל |\n|---|---|---|\n| דלת | | *ואו* |\n\nאחרי\n\n"
    "| one | two |\n|---|---|\n| three | four |\n";

struct Tables : View {
    Tables() {
        Turn reply;
        reply.id = 3;
        reply.role = QStringLiteral("assistant");
        reply.content = QString::fromUtf8(kTables);
        view.setTurns({reply});
        QTest::qWait(50);
    }
    QTextBrowser& browser = *view.findChild<QTextBrowser*>();
    QAccessibleTextInterface& reader =
        *QAccessible::queryAccessibleInterface(&browser)->textInterface();

    /// The words of a text, for comparison.
    static QString words(const QString& text) { return text.simplified(); }
};

}  // namespace

TEST_CASE("RightToLeft: a screen reader reads the cells of a table in their order",
          "[gui][quick]") {
    application();
    Tables f;
    const QString wanted = QString::fromUtf8("לפני אלף בית גימל דלת ואו אחרי one two three four");
    const int count = f.reader.characterCount();
    const QString all = f.reader.text(0, count);
    CHECK(all.size() == count);
    CHECK(Tables::words(all).contains(wanted));
    // However it is read: by characters, words, lines or paragraphs, and back again.
    for (const auto type : {QAccessible::CharBoundary, QAccessible::WordBoundary,
                            QAccessible::LineBoundary, QAccessible::ParagraphBoundary}) {
        CAPTURE(type);
        QString forth, back;
        int begin = 0, end = 0;
        for (int offset = 0; offset < count; offset = end) {
            forth += f.reader.textAtOffset(offset, type, &begin, &end);
            REQUIRE(begin == offset);
            REQUIRE(end > offset);
        }
        CHECK(forth == all);
        for (int offset = count - 1; offset >= 0; offset = begin - 1)
            back.prepend(f.reader.textAtOffset(offset, type, &begin, &end));
        CHECK(back == all);
        f.reader.textAfterOffset(0, type, &begin, &end);
        const int second = begin;
        f.reader.textBeforeOffset(second, type, &begin, &end);
        CHECK(begin == 0);
        CHECK(end == second);
    }
    int begin = 0, end = 0;
    CHECK(f.reader.textAtOffset(0, QAccessible::NoBoundary, &begin, &end) == all);
    const qsizetype italic = all.indexOf(QString::fromUtf8("ואו"));
    CHECK(f.reader.attributes(static_cast<int>(italic), &begin, &end)
              .contains(QStringLiteral("font-style:italic")));
    CHECK(begin == italic);
    CHECK(end == italic + 3);
}

TEST_CASE("RightToLeft: the caret goes through a table as it is read, in both directions",
          "[gui][quick]") {
    application();
    Tables f;
    const int count = f.reader.characterCount();
    f.view.show();
    f.browser.setFocus(Qt::TabFocusReason);
    for (const bool isWord : {false, true}) {
        CAPTURE(isWord);
        const auto modifiers = isWord ? Qt::ControlModifier : Qt::NoModifier;
        f.browser.moveCursor(QTextCursor::Start);
        QVector<int> visited{f.reader.cursorPosition()};
        // Where the text runs to the left, its next character is at the left.
        const auto step = [&](bool isForth) {
            const bool isLeftward =
                f.browser.textCursor().block().textDirection() == Qt::RightToLeft;
            QTest::keyClick(&f.browser, isForth != isLeftward ? Qt::Key_Right : Qt::Key_Left,
                            modifiers);
            return f.reader.cursorPosition();
        };
        for (int i = 0; i < 4 * count && visited.last() < count; ++i) {
            const int now = step(true);
            REQUIRE(now > visited.last());  // never back, never stuck
            if (!isWord) REQUIRE(now == visited.last() + 1);
            visited.append(now);
        }
        CHECK(visited.last() == count);
        for (int i = 0; i < 4 * count && f.reader.cursorPosition() > 0; ++i) {
            const int before = f.reader.cursorPosition(), now = step(false);
            REQUIRE(now < before);
        }
        CHECK(f.reader.cursorPosition() == 0);
    }
}

TEST_CASE("RightToLeft: what a screen reader selects and points at is the cell it has read",
          "[gui][quick]") {
    application();
    Tables f;
    const QString all = f.reader.text(0, f.reader.characterCount());
    for (const char* text : {"אלף", "בית", "גימל", "דלת", "ואו", "three"}) {
        const QString word = QString::fromUtf8(text);
        CAPTURE(text);
        const int begin = static_cast<int>(all.indexOf(word));
        const int end = begin + static_cast<int>(word.size());
        f.reader.setSelection(0, begin, end);
        CHECK(f.browser.textCursor().selectedText() == word);
        int from = 0, to = 0;
        f.reader.selection(0, &from, &to);
        CHECK(from == begin);
        CHECK(to == end);
        f.reader.setCursorPosition(begin);
        CHECK(f.reader.cursorPosition() == begin);
        CHECK(f.reader.selectionCount() == 0);
        CHECK(f.reader.offsetAtPoint(f.reader.characterRect(begin + 1).center()) - begin <= 2);
        CHECK(f.reader.offsetAtPoint(f.reader.characterRect(begin + 1).center()) - begin >= 1);
    }
    // Of two cells beside each other the one that is read first is at the right.
    const auto left = [&](const char* text) {
        return f.reader.characterRect(static_cast<int>(all.indexOf(QString::fromUtf8(text))))
            .left();
    };
    CHECK(left("אלף") > left("בית"));
    CHECK(left("בית") > left("גימל"));
    CHECK(left("one") < left("two"));
}

TEST_CASE("RightToLeft: tables are copied in the order of their cells", "[gui][quick]") {
    application();
    Tables f;
    f.browser.selectAll();
    CHECK(f.view.selectedText(false) ==
          QString::fromUtf8("לפני\n\nאלף\tבית\tגימל\nדלת\t\tואו\n\nאחרי\n\n"
                            "one\ttwo\nthree\tfour"));
}

TEST_CASE("RightToLeft: a mirrored window has people's turns at the left", "[gui][quick]") {
    application();
    {
        const View view;
        const QTextBlockFormat format = view.block("Hi").blockFormat();
        CHECK(format.leftMargin() > format.rightMargin());
    }
    const Mirrored mirrored;
    const View view;
    const QTextBlockFormat format = view.block("Hi").blockFormat();
    CHECK(format.leftMargin() < format.rightMargin());
    CHECK(view.block("English שלום").textDirection() == Qt::LeftToRight);
}

TEST_CASE("RightToLeft: icons that point along the line are mirrored", "[gui][quick]") {
    application();
    constexpr int kSize = 48;
    const auto draw = [](const char* name) {
        return Theme::instance().icon(QLatin1String(name)).pixmap(kSize, kSize).toImage();
    };
    for (const char* name : {"previous", "next", "continue", "undo", "sidebar"}) {
        INFO(name);
        const QImage there = draw(name);
        CHECK(there != there.mirrored(true, false));
        const Mirrored mirrored;
        const QImage here = draw(name), wanted = there.mirrored(true, false);
        int most = 0;  // rounding may differ
        for (int y = 0; y < here.height(); ++y)
            for (int x = 0; x < here.width(); ++x)
                most = qMax(most, qAbs(qAlpha(here.pixel(x, y)) - qAlpha(wanted.pixel(x, y))));
        CHECK(most < 32);
    }
    const QImage check = draw("send");
    const Mirrored mirrored;
    CHECK(draw("send") == check);
}
