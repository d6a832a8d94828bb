// SPDX-License-Identifier: Apache-2.0
#include "chat/transcript_browser.h"

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QMimeData>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTextLayout>

#include "chat/reading_order.h"
#include "chat/transcript_accessible.h"
#include "chat/transcript_document.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {

int edges(const QTextBlock& block) {
    return block.blockFormat().intProperty(kBlockEdges);
}

/// Qt's own reads local files that images name.
class SilentDocument final : public QTextDocument {
  public:
    using QTextDocument::QTextDocument;

  protected:
    QVariant loadResource(int, const QUrl&) override { return {}; }
};

}  // namespace

TranscriptBrowser::TranscriptBrowser(QWidget* parent) : QTextBrowser(parent) {
    TranscriptAccessible::install();
    setDocument(new SilentDocument(this));
    setFrameShape(QFrame::NoFrame);
    setOpenLinks(false);
    setOpenExternalLinks(false);
    setUndoRedoEnabled(false);
    setTabChangesFocus(true);
    setTextInteractionFlags(Qt::TextBrowserInteraction | Qt::TextSelectableByKeyboard);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    // Always there, so that the column does not move when the text grows past the window.
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    setCursorWidth(0);
    connect(verticalScrollBar(), &QScrollBar::rangeChanged, this,
            [this](int least, int most) { verticalScrollBar()->setEnabled(most > least); });
    verticalScrollBar()->setEnabled(false);
    viewport()->setMouseTracking(true);
    updateColors();
}

double TranscriptBrowser::updateColumn() {
    const int room = width() - verticalScrollBar()->sizeHint().width();
    const int side = qMax(0, (room - kReadingWidth - 2 * kColumnMargin) / 2);
    const QMargins margins = viewportMargins();
    if (margins.left() != side) setViewportMargins(side, 0, side, 0);
    return qMax(200, viewport()->width() - 2 * kColumnMargin);
}

void TranscriptBrowser::updateColors() {
    const Colors& colors = Theme::instance().colors();
    QPalette palette = this->palette();
    palette.setColor(QPalette::Base, colors.ground);
    palette.setColor(QPalette::Text, colors.ink);
    palette.setColor(QPalette::Highlight, colors.selection);
    palette.setColor(QPalette::HighlightedText, colors.ink);
    setPalette(palette);
    // With a style sheet it does not take the palette of its parent a second time.
    viewport()->setPalette(palette);
    viewport()->update();
}

QVariant TranscriptBrowser::loadResource(int, const QUrl&) {
    return {};
}

void TranscriptBrowser::doSetSource(const QUrl&, QTextDocument::ResourceType) {}

// ---- Copying ---------------------------------------------------------------------------------

QString TranscriptBrowser::selectedText(bool asMarkdown) const {
    const QTextCursor cursor = textCursor();
    if (!cursor.hasSelection() || m_transcript == nullptr) return {};
    return asMarkdown ? m_transcript->markdown(cursor.selectionStart(), cursor.selectionEnd())
                      : m_transcript->plainText(cursor.selectionStart(), cursor.selectionEnd());
}

QMimeData* TranscriptBrowser::createMimeDataFromSelection() const {
    auto* mime = new QMimeData;
    mime->setText(selectedText(false));
    return mime;
}

void TranscriptBrowser::copyAsMarkdown() const {
    QGuiApplication::clipboard()->setText(selectedText(true));
}

QString TranscriptBrowser::codeAround(QTextBlock block) {
    while (!(edges(block) & kFirstEdge) &&
           blockPart(block.previous().blockFormat()) == BlockPart::code)
        block = block.previous();
    QString text = block.text();
    for (block = block.next();
         blockPart(block.blockFormat()) == BlockPart::code && !(edges(block) & kFirstEdge);
         block = block.next()) {
        const auto join = static_cast<BlockJoin>(block.blockFormat().intProperty(kBlockJoin));
        if (join != BlockJoin::none) text += QLatin1Char('\n');
        text += block.text();
    }
    return text;
}

void TranscriptBrowser::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    const bool hasSelection = textCursor().hasSelection();
    QAction* plain = menu.addAction(tr("Copy"), this, &QTextEdit::copy);
    plain->setShortcut(QKeySequence::Copy);
    plain->setEnabled(hasSelection);
    menu.addAction(tr("Copy as Markdown"), this, &TranscriptBrowser::copyAsMarkdown)
        ->setEnabled(hasSelection);
    const QString link = anchorAt(event->pos());
    if (!link.isEmpty() && !link.startsWith(TranscriptDocument::kThoughtLink))
        menu.addAction(tr("Copy the link"), this,
                       [link] { QGuiApplication::clipboard()->setText(link); });
    menu.addSeparator();
    menu.addAction(tr("Select all"), this, &QTextEdit::selectAll)
        ->setShortcut(QKeySequence::SelectAll);
    menu.exec(event->globalPos());
}

// ---- Painting --------------------------------------------------------------------------------

void TranscriptBrowser::visitVisible(
    const std::function<void(const QTextBlock&, const QRectF&)>& visit) const {
    const QAbstractTextDocumentLayout* layout = document()->documentLayout();
    const double top = verticalScrollBar()->value();
    const int position = layout->hitTest({double{kColumnMargin}, top}, Qt::FuzzyHit);
    QTextBlock block = document()->findBlock(qMax(0, position));
    // The margins of the block above may be what is seen first.
    if (block.previous().isValid()) block = block.previous();
    for (; block.isValid(); block = block.next()) {
        const QRectF place = layout->blockBoundingRect(block).translated(0, -top);
        // What lies above a first line of code belongs to it.
        if (place.top() > viewport()->height() + kCodeHeader) break;
        visit(block, place);
    }
}

void TranscriptBrowser::paintEvent(QPaintEvent* event) {
    {
        QPainter painter(viewport());
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setClipRect(event->rect());
        paintBehind(painter);
    }
    QTextBrowser::paintEvent(event);
}

void TranscriptBrowser::paintBehind(QPainter& painter) {
    const Colors& colors = Theme::instance().colors();
    const double right = viewport()->width() - kColumnMargin;
    QRectF area;  // Of the blocks that lie on one background.
    BlockPart areaPart = BlockPart::text;
    const auto finish = [&] {
        if (area.isNull()) return;
        painter.setPen(Qt::NoPen);
        painter.setBrush(areaPart == BlockPart::code ? colors.codeGround : colors.raised);
        painter.drawRoundedRect(area, kRadius, kRadius);
        area = {};
    };
    struct Label {
        QRectF place;
        QString text;
    };
    QVector<Label> labels;
    QVector<std::pair<QTextBlock, QRectF>> code;
    visitVisible([&](const QTextBlock& block, const QRectF& place) {
        const QTextBlockFormat format = block.blockFormat();
        const BlockPart part = blockPart(format);
        const bool hasGround = part == BlockPart::code || part == BlockPart::person;
        const bool isFirst = (edges(block) & kFirstEdge) != 0;
        if (!hasGround || part != areaPart || isFirst) finish();
        if (part == BlockPart::rule) {
            painter.setPen(colors.hairline);
            const double y = qRound(place.center().y()) + 0.5;
            painter.drawLine(QPointF(kColumnMargin + format.leftMargin(), y), QPointF(right, y));
        }
        if (format.hasProperty(kBlockContainers)) paintBars(painter, block, place);
        if (!hasGround) return;
        areaPart = part;
        const double left =
            kColumnMargin + format.leftMargin() + format.textIndent() - kTurnPadding;
        if (part == BlockPart::code) code.append({block, place});
        const double end = right - format.rightMargin() + kTurnPadding;
        // Where it goes on, its corners lie beyond.
        const double above = !isFirst ? 0 : part == BlockPart::code ? kCodeHeader : kTurnPadding;
        const double below = edges(block) & kLastEdge ? kTurnPadding : 0;
        const QRectF own(left, place.top() - above, end - left, place.height() + above + below);
        if (area.isNull() && !isFirst) area = own.adjusted(0, -2 * kRadius, 0, 0);
        area = area.isNull() ? own : area.united(own);
        if (part == BlockPart::code && isFirst)
            labels.append({QRectF(own.left() + kTurnPadding, own.top(), 300, kCodeHeader),
                           CodeHighlighter::displayName(format.stringProperty(kBlockLanguage))});
    });
    finish();
    for (const auto& [block, place] : code) paintBreaks(painter, block, place);
    QFont small = Theme::instance().textFont();
    small.setPointSizeF(small.pointSizeF() * 0.85);
    painter.setFont(small);
    painter.setPen(colors.faint);
    for (const Label& label : labels)
        painter.drawText(label.place, Qt::AlignLeft | Qt::AlignAbsolute | Qt::AlignVCenter,
                         label.text);
}

/// A small hook before what goes on from the line of code above.
void TranscriptBrowser::paintBreaks(QPainter& painter, const QTextBlock& block,
                                    const QRectF& place) {
    const QTextLayout& layout = *block.layout();
    if (layout.lineCount() < 2) return;
    const QFontMetricsF metrics(block.charFormat().font());
    const double em = metrics.horizontalAdvance(QLatin1Char(' ')), size = metrics.xHeight() / 2;
    painter.setPen(
        QPen(Theme::instance().colors().faint, 1.2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const double x = kColumnMargin + block.blockFormat().leftMargin() - kCodeHang * em + em / 3;
    for (int i = 1; i < layout.lineCount(); ++i) {
        const QTextLine line = layout.lineAt(i);
        const double y = place.top() + line.y() + line.ascent() - size;
        if (y < 0 || y > viewport()->height()) continue;
        const double end = x + em;
        painter.drawPolyline(QPolygonF{{x, y - size}, {x, y}, {end, y}});
        painter.drawPolyline(QPolygonF{
            {end - size * 0.7, y - size * 0.7}, {end, y}, {end - size * 0.7, y + size * 0.7}});
    }
}

void TranscriptBrowser::paintBars(QPainter& painter, const QTextBlock& block, const QRectF& place) {
    const QString containers = block.blockFormat().stringProperty(kBlockContainers);
    const TurnFormats formats(0);
    const QTextBlock previous = block.previous();
    const QString before = previous.blockFormat().stringProperty(kBlockContainers);
    for (qsizetype i = 0; i < containers.size(); ++i) {
        if (containers[i] != QLatin1Char('q')) continue;
        // One bar along paragraphs of the same quotation.
        const bool goesOn = before.startsWith(QStringView(containers).left(i + 1));
        const QAbstractTextDocumentLayout* layout = document()->documentLayout();
        const double gap =
            layout->blockBoundingRect(block).top() - layout->blockBoundingRect(previous).bottom();
        const double above = goesOn ? gap + 1 : 0;
        constexpr double kBarWidth = 3;
        double left = kColumnMargin + formats.indent(QStringView(containers).left(i)) + 2;
        if (block.textDirection() == Qt::RightToLeft) left = viewport()->width() - left - kBarWidth;
        painter.setPen(Qt::NoPen);
        painter.setBrush(Theme::instance().colors().hairline);
        painter.drawRoundedRect(
            QRectF(left, place.top() - above, kBarWidth, place.height() + above), 1.5, 1.5);
    }
}

// ---- Mouse and keys --------------------------------------------------------------------------

bool TranscriptBrowser::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::MouseMove)
        emit hovered(static_cast<QMouseEvent*>(event)->position().toPoint());
    if (event->type() == QEvent::Leave) emit left();
    return QTextBrowser::viewportEvent(event);
}

/// In tables that begin at the right the caret goes from cell to cell as they are read.
void TranscriptBrowser::keyPressEvent(QKeyEvent* event) {
    struct Move {
        QKeySequence::StandardKey plain, selecting;
        QTextCursor::MoveOperation operation;
    };
    static constexpr Move kMoves[] = {
        {QKeySequence::MoveToNextChar, QKeySequence::SelectNextChar, QTextCursor::Right},
        {QKeySequence::MoveToPreviousChar, QKeySequence::SelectPreviousChar, QTextCursor::Left},
        {QKeySequence::MoveToNextWord, QKeySequence::SelectNextWord, QTextCursor::WordRight},
        {QKeySequence::MoveToPreviousWord, QKeySequence::SelectPreviousWord,
         QTextCursor::WordLeft}};
    for (const Move& move : kMoves) {
        const bool isSelecting = event->matches(move.selecting);
        if (!isSelecting && !event->matches(move.plain)) continue;
        const auto mode = isSelecting ? QTextCursor::KeepAnchor : QTextCursor::MoveAnchor;
        QTextCursor cursor = textCursor();
        const int before = cursor.position();
        cursor.movePosition(move.operation, mode);
        const int target = caretTarget(*document(), before, cursor.position());
        if (target == cursor.position()) break;
        cursor.setPosition(target, mode);
        setTextCursor(cursor);
        return event->accept();
    }
    QTextBrowser::keyPressEvent(event);
}

/// A caret helps those who came by key, and only them.
void TranscriptBrowser::focusInEvent(QFocusEvent* event) {
    const bool isByKey = event->reason() == Qt::TabFocusReason ||
                         event->reason() == Qt::BacktabFocusReason ||
                         event->reason() == Qt::ShortcutFocusReason;
    setCursorWidth(isByKey ? 1 : 0);
    QTextBrowser::focusInEvent(event);
}

}  // namespace hokku::desktop
