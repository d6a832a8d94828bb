// SPDX-License-Identifier: Apache-2.0
// TurnFormats: the fonts, colours and distances of the transcript, taken from the theme once for
// each time that it is laid out; and what the blocks of its document say about themselves.
#pragma once

#include <QTextBlockFormat>
#include <QTextCharFormat>

#include "chat/markdown_blocks.h"

namespace hokku::desktop {

/// Properties of the formats of blocks.
enum BlockProperty : int {
    kBlockPart = QTextFormat::UserProperty + 1,  ///< A BlockPart.
    kBlockJoin,                                  ///< A BlockJoin.
    kBlockContainers,                            ///< RichBlock::containers.
    kBlockEdges,                                 ///< kFirstEdge | kLastEdge.
    kBlockLanguage,                              ///< Of code.
    kTableMirrored,  ///< Of a table: its cells lie in the opposite order (reading_order.h).
};
enum class BlockPart : int { text, head, tail, person, code, rule, table, note };
enum BlockEdge : int { kFirstEdge = 1, kLastEdge = 2 };

[[nodiscard]] BlockPart blockPart(const QTextBlockFormat& format);

/// Distances in device-independent pixels.
inline constexpr int kTurnPadding = 12;    ///< Within the blocks of people and of code.
inline constexpr int kCodeHeader = 28;     ///< The language and the copy button.
inline constexpr int kActionsHeight = 28;  ///< Buttons below a turn.
inline constexpr int kColumnMargin = 16;   ///< Around the document, for rounded backgrounds.

inline constexpr int kCodeTab = 4;   ///< Characters of code.
inline constexpr int kCodeHang = 2;  ///< Characters that a broken line of code is set in by.

struct TurnFormats {
    /// `width`: of the column of text.
    explicit TurnFormats(double width);

    QTextCharFormat text, faint, marker, code, hidden;
    QTextBlockFormat block;        ///< Line height 1.5, no margins.
    QTextBlockFormat hiddenBlock;  ///< One pixel, for what only screen readers read.
    double width = 0;
    double em = 0;      ///< Size of the text.
    double gap = 0;     ///< Between paragraphs.
    double codeEm = 0;  ///< Width of a character of code.

    [[nodiscard]] QTextCharFormat run(const TextRun& run, RichBlock::Kind kind,
                                      int headingLevel) const;
    /// Left of the text in `containers`, or of the bar of the quotation that it ends with.
    [[nodiscard]] double indent(QStringView containers) const;
    /// How far a line of code hangs where it is broken: behind its own indentation.
    [[nodiscard]] double codeHang(QStringView line) const;
    [[nodiscard]] double containerWidth(QChar container) const;
};

}  // namespace hokku::desktop
