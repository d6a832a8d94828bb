// SPDX-License-Identifier: Apache-2.0
// Scripts that run to the left, and the window mirrored for them.
#include <QAbstractTextDocumentLayout>
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
