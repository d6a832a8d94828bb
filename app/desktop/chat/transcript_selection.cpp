// SPDX-License-Identifier: Apache-2.0
// The part of TranscriptDocument that turns what is selected into text for the clipboard.
#include <QTextBlock>
#include <QTextTable>
#include <algorithm>

#include "chat/reading_order.h"
#include "chat/transcript_document.h"

namespace hokku::desktop {
namespace {

/// What separates a block from the one before it.
QString separator(const QTextBlock& block, BlockPart part) {
    if (part == BlockPart::table) {
        const QTextCursor cursor(block);
        const QTextTable* table = cursor.currentTable();
        int column = table == nullptr ? 0 : table->cellAt(block.position()).column();
        if (table != nullptr && table->format().boolProperty(kTableMirrored))
            column = table->columns() - 1 - column;
        if (column > 0) return QStringLiteral("\t");
        const int row = table == nullptr ? 0 : table->cellAt(block.position()).row();
        return row > 0 ? QStringLiteral("\n") : QStringLiteral("\n\n");
    }
    switch (static_cast<BlockJoin>(block.blockFormat().intProperty(kBlockJoin))) {
        case BlockJoin::line:
            return QStringLiteral("\n");
        case BlockJoin::space:
            return QStringLiteral(" ");
        case BlockJoin::none:
            return {};
        case BlockJoin::paragraph:
            break;
    }
    return QStringLiteral("\n\n");
}

QString blockText(const QTextBlock& block, int begin, int end) {
    const int from = qMax(begin, block.position());
    const int to = qMin(end, block.position() + block.length() - 1);
    QString text = block.text().mid(from - block.position(), to - from);
    text.replace(QChar(0x2028), QLatin1Char('\n'));
    const QTextBlockFormat format = block.blockFormat();
    const bool isCode = blockPart(format) == BlockPart::code;  // Its broken lines hang, too.
    if (!isCode && format.textIndent() < 0 && from == block.position()) {  // A marker.
        const qsizetype tab = text.indexOf(QLatin1Char('\t'));
        if (tab >= 0) text[tab] = QLatin1Char(' ');
        const auto depth = format.stringProperty(kBlockContainers).size();
        text.prepend(QString(2 * qMax(qsizetype{0}, depth - 1), QLatin1Char(' ')));
    }
    return text;
}

void appendParagraph(QString& text, const QString& more) {
    if (more.isEmpty()) return;
    if (!text.isEmpty()) text += QStringLiteral("\n\n");
    text += more;
}

QString withoutTrailingLines(QString text) {
    while (text.endsWith(QLatin1Char('\n'))) text.chop(1);
    return text;
}

}  // namespace

QString TranscriptDocument::plainText(int begin, int end) const {
    QVector<std::pair<int, QTextBlock>> blocks;  // By their place in the order of reading.
    for (QTextBlock block = m_document.findBlock(begin); block.isValid() && block.position() < end;
         block = block.next())
        blocks.append({toReading(m_document, block.position()), block});
    std::sort(blocks.begin(), blocks.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    QString result;
    bool isFirst = true;
    for (const auto& [offset, block] : blocks) {
        const BlockPart part = blockPart(block.blockFormat());
        if (part == BlockPart::head || part == BlockPart::tail) continue;
        if (!isFirst) result += separator(block, part);
        result += blockText(block, begin, end);
        isFirst = false;
    }
    return result;
}

QString TranscriptDocument::markdown(int begin, int end) const {
    QString result;
    for (qsizetype i = qMax(qsizetype{0}, indexAt(begin)); i < size(); ++i) {
        const Entry& entry = m_turns[i];
        const Range range = this->range(i);
        if (range.begin >= end) break;
        QString text;
        bool wasWhole = false;
        for (const TurnSection::Piece& piece : entry.content.pieces()) {
            const int from = range.textBegin + piece.begin + 1;
            const int to = from + piece.length - 1;
            if (piece.length == 0 || to <= begin || from >= end) continue;
            const bool isWhole = begin <= from && to <= end;
            if (isWhole && wasWhole) {
                text += piece.source;
            } else {
                text = withoutTrailingLines(text);
                appendParagraph(
                    text, isWhole ? piece.source : plainText(qMax(begin, from), qMin(end, to)));
            }
            wasWhole = isWhole;
        }
        appendParagraph(result, withoutTrailingLines(text));
    }
    return result.isEmpty() ? plainText(begin, end) : result;
}

}  // namespace hokku::desktop
