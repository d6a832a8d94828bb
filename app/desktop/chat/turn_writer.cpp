// SPDX-License-Identifier: Apache-2.0
#include "chat/turn_writer.h"

#include <QFontMetricsF>
#include <QGuiApplication>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextTable>
#include <algorithm>
#include <numeric>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// A message of a person takes at most this share of the column.
constexpr double kPersonShare = 0.85;
constexpr int kCellPadding = 6;
/// What rounding may take from a cell.
constexpr double kCellSlack = 4;
/// Characters of a cell that its width is taken from.
constexpr qsizetype kMeasuredCell = 200;

/// By the first letter of the table that has a direction.
bool isRightToLeft(const RichBlock& table) {
    for (const QVector<RichText>& row : table.rows)
        for (const RichText& cell : row)
            for (const QChar c : cell.text)
                if (c.isLetter()) return cell.text.isRightToLeft();
    return false;
}

}  // namespace

TurnWriter::TurnWriter(QTextDocument& document, const TurnFormats& formats)
    : m_document(document), m_formats(formats), m_cursor(&document) {}

QVector<int> TurnWriter::write(int position, const QVector<RichBlock>& blocks, TurnTone tone) {
    QVector<int> lengths;
    lengths.reserve(blocks.size());
    const double personLeft = tone == TurnTone::person ? personIndent(blocks) : 0;
    m_cursor.setPosition(position);
    int before = m_document.characterCount();
    for (qsizetype i = 0; i < blocks.size(); ++i) {
        if (blocks[i].kind == RichBlock::Kind::table && !blocks[i].rows.isEmpty()) {
            writeTable(blocks[i]);
        } else {
            const int edges = (i == 0 ? kFirstEdge : 0) | (i + 1 == blocks.size() ? kLastEdge : 0);
            writeText(blocks[i], tone, personLeft, edges);
        }
        const int after = m_document.characterCount();
        lengths.append(after - before);
        before = after;
    }
    return lengths;
}

int TurnWriter::writeLine(int position, const QTextBlockFormat& block,
                          const QTextCharFormat& format, const QString& text) {
    m_cursor.setPosition(position);
    m_cursor.insertBlock(block, format);
    m_cursor.insertText(text, format);
    return m_cursor.position() - position;
}

void TurnWriter::remove(int position, int length) {
    if (length == 0) return;
    // Where the block in front is empty, Qt gives it the format of what was taken out.
    m_cursor.setPosition(position);
    const QTextBlockFormat block = m_cursor.blockFormat();
    const QTextCharFormat format = m_cursor.blockCharFormat();
    m_cursor.setPosition(position + length, QTextCursor::KeepAnchor);
    m_cursor.removeSelectedText();
    if (m_cursor.blockFormat() != block) m_cursor.setBlockFormat(block);
    if (m_cursor.blockCharFormat() != format) m_cursor.setBlockCharFormat(format);
}

QTextBlockFormat TurnWriter::blockFormat(const RichBlock& block, TurnTone tone) const {
    QTextBlockFormat format = m_formats.block;
    const double left =
        m_formats.indent(block.containers) + (tone == TurnTone::thought ? m_formats.em : 0);
    const double gap = block.join == BlockJoin::paragraph ? m_formats.gap
                       : block.join == BlockJoin::line && !block.marker.isEmpty()
                           ? m_formats.gap / 3
                           : 0;
    // Lists of scripts that run to the left hang on the right.
    const bool isRightToLeft =
        block.kind == RichBlock::Kind::text && block.content.text.isRightToLeft();
    format.setLeftMargin(isRightToLeft ? 0 : left);
    format.setRightMargin(isRightToLeft ? left : 0);
    format.setTopMargin(gap);
    format.setProperty(kBlockPart, static_cast<int>(BlockPart::text));
    format.setProperty(kBlockJoin, static_cast<int>(block.join));
    if (!block.containers.isEmpty()) format.setProperty(kBlockContainers, block.containers);
    switch (block.kind) {
        case RichBlock::Kind::heading:
            format.setHeadingLevel(block.headingLevel);
            format.setTopMargin(gap * (block.headingLevel <= 2 ? 2.0 : 1.5));
            format.setLineHeight(130, QTextBlockFormat::ProportionalHeight);
            break;
        case RichBlock::Kind::code: {
            const int edges = (block.isFirst ? kFirstEdge : 0) | (block.isLast ? kLastEdge : 0);
            format.setProperty(kBlockPart, static_cast<int>(BlockPart::code));
            format.setProperty(kBlockEdges, edges);
            format.setProperty(kBlockLanguage, block.language);
            format.setLayoutDirection(Qt::LeftToRight);
            format.setLineHeight(135, QTextBlockFormat::ProportionalHeight);
            const double hang = m_formats.codeHang(block.content.text);
            format.setLeftMargin(left + kTurnPadding + hang);
            format.setTextIndent(-hang);
            format.setRightMargin(kTurnPadding);
            format.setTopMargin(block.isFirst ? m_formats.gap + kCodeHeader : 0);
            format.setBottomMargin(block.isLast ? kTurnPadding + m_formats.gap : 0);
            break;
        }
        case RichBlock::Kind::rule:
            format.setProperty(kBlockPart, static_cast<int>(BlockPart::rule));
            break;
        default:
            break;
    }
    return format;
}

/// Beside the text of a person: what leaves room for its longest line.
double TurnWriter::personIndent(const QVector<RichBlock>& blocks) const {
    const QFontMetricsF metrics(m_formats.text.font());
    const double most = m_formats.width * kPersonShare - 2 * kTurnPadding;
    double widest = 0;
    for (const RichBlock& block : blocks) {
        if (widest >= most) break;
        if (block.content.text.size() > 400) {
            widest = most;
        } else {
            widest = qMax(widest, metrics.horizontalAdvance(block.content.text) + 2);
        }
    }
    return m_formats.width - qMin(widest, most) - kTurnPadding;
}

void TurnWriter::writeText(const RichBlock& block, TurnTone tone, double personLeft, int edges) {
    QTextBlockFormat format = blockFormat(block, tone);
    if (tone == TurnTone::person) {
        format.setProperty(kBlockPart, static_cast<int>(BlockPart::person));
        format.setProperty(kBlockEdges, edges);
        const bool isMirrored = QGuiApplication::isRightToLeft();
        format.setLeftMargin(isMirrored ? kTurnPadding : personLeft);
        format.setRightMargin(isMirrored ? personLeft : kTurnPadding);
        format.setTopMargin(edges & kFirstEdge ? kTurnPadding : 0);
        format.setBottomMargin(edges & kLastEdge ? kTurnPadding : 0);
    }
    const bool isCode = block.kind == RichBlock::Kind::code;
    if (!block.marker.isEmpty()) {
        const double hang = m_formats.containerWidth(block.containers.back());
        format.setTextIndent(-hang);
        // Where the text runs to the left Qt takes one for the other.
        const auto tab =
            block.content.text.isRightToLeft() ? QTextOption::RightTab : QTextOption::LeftTab;
        format.setTabPositions({{hang, tab}, {hang * 1.5, tab}, {hang * 2, tab}});
    }
    // An empty block has the height of the font that its own format names.
    const QTextCharFormat first = m_formats.run({}, block.kind, block.headingLevel);
    m_cursor.insertBlock(format, isCode ? m_formats.code : first);
    if (!block.marker.isEmpty())
        m_cursor.insertText(block.marker + QLatin1Char('\t'), m_formats.marker);
    writeRuns(block.content, block, tone, false);
}

void TurnWriter::writeRuns(const RichText& text, const RichBlock& block, TurnTone tone,
                           bool isHead) {
    for (const TextRun& run : text.runs) {
        QTextCharFormat format = m_formats.run(run, block.kind, block.headingLevel);
        if (tone == TurnTone::thought) format.setForeground(m_formats.faint.foreground());
        if (isHead) format.setFontWeight(QFont::DemiBold);
        m_cursor.insertText(text.text.mid(run.begin, run.size), format);
    }
}

/// Shares of the column of text that the columns take, and all of them together. Those that do not
/// fit give way, but not below their longest word while there is room for that.
QVector<QTextLength> TurnWriter::columnWidths(const RichBlock& block, double* total) const {
    QFont bold = m_formats.text.font();
    bold.setBold(true);
    const QFontMetricsF metrics(bold);
    QVector<double> widths(block.alignments.size(), m_formats.em), words = widths;
    for (const QVector<RichText>& row : block.rows) {
        for (qsizetype i = 0; i < qMin(row.size(), widths.size()); ++i) {
            const QString text = row[i].text.left(kMeasuredCell);
            widths[i] = qMax(widths[i], metrics.horizontalAdvance(text) + kCellSlack);
            for (const QString& word : text.split(QLatin1Char(' ')))
                words[i] = qMax(words[i], metrics.horizontalAdvance(word) + kCellSlack);
        }
    }
    const double room =
        qMax(1.0, m_formats.width - m_formats.indent(block.containers) + kCellPadding);
    const double padding = 2.0 * kCellPadding * static_cast<double>(widths.size());
    double sum = std::accumulate(widths.begin(), widths.end(), padding);
    const double least = std::accumulate(words.begin(), words.end(), padding);
    if (sum > room && least < room) {
        const double share = (room - least) / (sum - least);
        for (qsizetype i = 0; i < widths.size(); ++i)
            widths[i] = words[i] + share * (widths[i] - words[i]);
        sum = room;
    }
    QVector<QTextLength> shares;
    for (const double width : widths)
        shares.append(
            QTextLength(QTextLength::PercentageLength, 100 * (width + 2 * kCellPadding) / sum));
    *total = qMin(100.0, 100 * sum / room);
    return shares;
}

void TurnWriter::writeTable(const RichBlock& block) {
    const Colors& colors = Theme::instance().colors();
    QTextTableFormat format;
    double total = 100;
    QVector<QTextLength> widths = columnWidths(block, &total);
    format.setBorder(0);
    format.setCellPadding(kCellPadding);
    format.setCellSpacing(0);
    const double indent = m_formats.indent(block.containers) - kCellPadding;
    format.setLeftMargin(indent);
    // Begins at the right then, with its first column; Qt has no such tables.
    const bool isMirrored = isRightToLeft(block);
    if (isMirrored) {
        format.setProperty(kTableMirrored, true);
        format.setLeftMargin((m_formats.width - indent) * (1 - total / 100));
        format.setRightMargin(indent);
        total = 100;
        std::reverse(widths.begin(), widths.end());
    }
    format.setColumnWidthConstraints(widths);
    format.setWidth(QTextLength(QTextLength::PercentageLength, total));
    format.setTopMargin(block.isHeadless ? 0 : m_formats.gap);
    format.setBottomMargin(m_formats.gap / 2);
    if (!block.isHeadless) format.setHeaderRowCount(1);
    const int rows = static_cast<int>(block.rows.size());
    const int columns = static_cast<int>(qMax(block.alignments.size(), qsizetype{1}));
    QTextTable* table = m_cursor.insertTable(rows, columns, format);
    for (int r = 0; r < rows; ++r) {
        const bool isHead = r == 0 && !block.isHeadless;
        for (int c = 0; c < columns; ++c) {
            QTextTableCell cell = table->cellAt(r, isMirrored ? columns - 1 - c : c);
            QTextTableCellFormat border;
            border.merge(m_formats.text);
            border.setBottomBorder(1);
            border.setBottomBorderStyle(QTextFrameFormat::BorderStyle_Solid);
            border.setBottomBorderBrush(isHead ? colors.faint : colors.hairline);
            cell.setFormat(border);
            m_cursor = cell.firstCursorPosition();
            QTextBlockFormat inner;
            inner.setProperty(kBlockPart, static_cast<int>(BlockPart::table));
            inner.setLineHeight(130, QTextBlockFormat::ProportionalHeight);
            inner.setAlignment(block.alignments.value(c, Qt::AlignLeft));
            m_cursor.setBlockFormat(inner);
            if (c < block.rows[r].size())
                writeRuns(block.rows[r][c], block, TurnTone::reply, isHead);
        }
    }
    // The block behind the table, which a table cannot be without.
    m_cursor.setPosition(table->lastPosition() + 1);
    m_cursor.setBlockFormat(m_formats.hiddenBlock);
    m_cursor.setBlockCharFormat(m_formats.hidden);
}

}  // namespace hokku::desktop
