// SPDX-License-Identifier: Apache-2.0
#include "chat/transcript_accessible.h"

#include <QScrollBar>
#include <QTextBlock>
#include <QTextBoundaryFinder>
#include <QTextLayout>

#include "chat/reading_order.h"
#include "chat/transcript_browser.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {

QAccessibleInterface* makeAccessible(const QString&, QObject* object) {
    auto* browser = qobject_cast<TranscriptBrowser*>(object);
    return browser == nullptr ? nullptr : new TranscriptAccessible(*browser);
}

/// With the character that ends it.
QString textOf(const QTextBlock& block) {
    return block.text().replace(QChar::LineSeparator, QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace

TranscriptAccessible::TranscriptAccessible(TranscriptBrowser& browser)
    : QAccessibleWidget(&browser, QAccessible::StaticText) {}

void TranscriptAccessible::install() {
    QAccessible::installFactory(makeAccessible);
}

TranscriptBrowser& TranscriptAccessible::browser() const {
    return *qobject_cast<TranscriptBrowser*>(object());
}

void* TranscriptAccessible::interface_cast(QAccessible::InterfaceType type) {
    if (type == QAccessible::TextInterface) return static_cast<QAccessibleTextInterface*>(this);
    return QAccessibleWidget::interface_cast(type);
}

QAccessible::State TranscriptAccessible::state() const {
    QAccessible::State state = QAccessibleWidget::state();
    state.readOnly = state.multiLine = state.selectableText = true;
    return state;
}

QString TranscriptAccessible::text(QAccessible::Text kind) const {
    return kind == QAccessible::Value ? text(0, characterCount()) : QAccessibleWidget::text(kind);
}

// ---- Text ------------------------------------------------------------------------------------

int TranscriptAccessible::characterCount() const {
    return browser().document()->characterCount() - 1;
}

int TranscriptAccessible::position(int offset) const {
    return fromReading(*browser().document(), qBound(0, offset, characterCount()));
}

QString TranscriptAccessible::text(int begin, int end) const {
    QString result;
    end = qMin(end, characterCount());
    for (int offset = qMax(0, begin); offset < end;) {
        // A cell is read whole: what follows in a block also follows in reading.
        const int from = position(offset);
        const QTextBlock block = browser().document()->findBlock(from);
        const int size = qMin(end - offset, block.position() + block.length() - from);
        result += QStringView(textOf(block)).mid(from - block.position(), size);
        offset += qMax(1, size);
    }
    return result;
}

TranscriptAccessible::Span TranscriptAccessible::spanAt(int offset,
                                                        QAccessible::TextBoundaryType type) const {
    if (type == QAccessible::NoBoundary) return {0, characterCount()};
    const int from = position(offset);
    const QTextBlock block = browser().document()->findBlock(from);
    const int start = toReading(*browser().document(), block.position());
    const int within = from - block.position();
    Span span{0, block.length()};
    if (type == QAccessible::CharBoundary) {
        span = {within, within + 1};
    } else if (type == QAccessible::LineBoundary) {
        const QTextLine line = block.layout()->lineForTextPosition(within);
        if (line.isValid()) {
            span = {line.textStart(), line.textStart() + line.textLength()};
            if (span.end >= block.length() - 1) span.end = block.length();
        }
    } else if (type != QAccessible::ParagraphBoundary) {
        const QString text = textOf(block);
        QTextBoundaryFinder finder(type == QAccessible::WordBoundary
                                       ? QTextBoundaryFinder::Word
                                       : QTextBoundaryFinder::Sentence,
                                   text);
        finder.setPosition(within);
        span.begin =
            finder.isAtBoundary() ? within : qMax(0, static_cast<int>(finder.toPreviousBoundary()));
        finder.setPosition(within);
        const int next = static_cast<int>(finder.toNextBoundary());
        if (next > 0) span.end = next;
    }
    return {start + span.begin, qMin(start + span.end, characterCount())};
}

QString TranscriptAccessible::take(const Span& span, int* begin, int* end) const {
    *begin = span.begin;
    *end = span.end;
    return text(span.begin, span.end);
}

QString TranscriptAccessible::textAtOffset(int offset, QAccessible::TextBoundaryType type,
                                           int* begin, int* end) const {
    return take(spanAt(offset, type), begin, end);
}

QString TranscriptAccessible::textBeforeOffset(int offset, QAccessible::TextBoundaryType type,
                                               int* begin, int* end) const {
    const Span here = spanAt(offset, type);
    return take(here.begin > 0 ? spanAt(here.begin - 1, type) : Span(), begin, end);
}

QString TranscriptAccessible::textAfterOffset(int offset, QAccessible::TextBoundaryType type,
                                              int* begin, int* end) const {
    const Span here = spanAt(offset, type);
    const int last = characterCount();
    return take(here.end < last ? spanAt(here.end, type) : Span{last, last}, begin, end);
}

QString TranscriptAccessible::attributes(int offset, int* begin, int* end) const {
    const int from = position(offset);
    const QTextBlock block = browser().document()->findBlock(from);
    const int start = toReading(*browser().document(), block.position()) - block.position();
    *begin = *end = start + from;
    for (auto part = block.begin(); !part.atEnd(); ++part) {
        const QTextFragment fragment = part.fragment();
        if (!fragment.contains(from)) continue;
        *begin = start + fragment.position();
        *end = *begin + fragment.length();
        const QFont font = fragment.charFormat().font();
        return QStringLiteral("font-weight:%1;font-style:%2;text-underline-style:%3;")
            .arg(QLatin1String(font.bold() ? "bold" : "normal"),
                 QLatin1String(font.italic() ? "italic" : "normal"),
                 QLatin1String(font.underline() ? "solid" : "none"));
    }
    return {};
}

// ---- Caret and selection ---------------------------------------------------------------------

int TranscriptAccessible::cursorPosition() const {
    return toReading(*browser().document(), browser().textCursor().position());
}

void TranscriptAccessible::setCursorPosition(int offset) {
    setSelection(0, offset, offset);
}

int TranscriptAccessible::selectionCount() const {
    return browser().textCursor().hasSelection() ? 1 : 0;
}

void TranscriptAccessible::selection(int index, int* begin, int* end) const {
    *begin = *end = 0;
    if (index != 0 || selectionCount() == 0) return;
    const QTextCursor cursor = browser().textCursor();
    *begin = toReading(*browser().document(), cursor.selectionStart());
    *end = toReading(*browser().document(), cursor.selectionEnd());
    if (*begin > *end) std::swap(*begin, *end);
}

void TranscriptAccessible::addSelection(int begin, int end) {
    setSelection(0, begin, end);
}

void TranscriptAccessible::setSelection(int index, int begin, int end) {
    if (index != 0) return;
    QTextCursor cursor = browser().textCursor();
    cursor.setPosition(position(begin));
    cursor.setPosition(position(end), QTextCursor::KeepAnchor);
    browser().setTextCursor(cursor);
}

void TranscriptAccessible::removeSelection(int index) {
    if (index == 0) setSelection(0, cursorPosition(), cursorPosition());
}

// ---- Places ----------------------------------------------------------------------------------

QRect TranscriptAccessible::characterRect(int offset) const {
    QTextCursor cursor(browser().document());
    cursor.setPosition(position(offset));
    QRect rect = browser().cursorRect(cursor);
    const int line = rect.y();
    if (cursor.movePosition(QTextCursor::NextCharacter)) {
        const QRect next = browser().cursorRect(cursor);
        if (next.y() == line) {
            const int left = qMin(rect.x(), next.x()), right = qMax(rect.x(), next.x());
            rect.setX(left);
            rect.setWidth(qMax(1, right - left));
        }
    }
    return {browser().viewport()->mapToGlobal(rect.topLeft()), rect.size()};
}

int TranscriptAccessible::offsetAtPoint(const QPoint& point) const {
    const QPoint own = browser().viewport()->mapFromGlobal(point);
    if (!browser().viewport()->rect().contains(own)) return -1;
    return toReading(*browser().document(), browser().cursorForPosition(own).position());
}

void TranscriptAccessible::scrollToSubstring(int begin, int end) {
    for (const int offset : {end, begin}) {  // The beginning is what must be seen.
        QTextCursor cursor(browser().document());
        cursor.setPosition(position(offset));
        const QRect rect = browser().cursorRect(cursor);
        QScrollBar& bar = *browser().verticalScrollBar();
        const int below = rect.bottom() + kGrid - browser().viewport()->height();
        if (below > 0) bar.setValue(bar.value() + below);
        if (rect.top() < kGrid) bar.setValue(bar.value() + rect.top() - kGrid);
    }
}

}  // namespace hokku::desktop
