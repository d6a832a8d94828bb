// SPDX-License-Identifier: Apache-2.0
// RichBlock: what a chunk of a turn looks like, as plain data without colours or fonts. The
// parser makes them, TurnWriter writes them into the document; equal blocks need no new layout.
#pragma once

#include <QString>
#include <QVector>

#include "chat/code_highlighter.h"

namespace hokku::desktop {

enum TextStyle : quint8 {
    kStrong = 1,
    kEmphasis = 2,
    kStrike = 4,
    kInlineCode = 8,
    kFormula = 16,
    kFaint = 32,
};

struct TextRun {
    qsizetype begin = 0, size = 0;
    quint8 style = 0;
    CodeToken token = CodeToken::text;  ///< Of lines of code.
    QString link;                       ///< Empty: none. http, https or mailto.
    bool operator==(const TextRun&) const = default;
};

struct RichText {
    QString text;
    QVector<TextRun> runs;  ///< Without gaps, in order.
    void append(const QString& more, quint8 style = 0, const QString& link = {});
    bool operator==(const RichText&) const = default;
};

/// What lies between this block and the one before it in the source.
enum class BlockJoin : quint8 { paragraph, line, space, none };

struct RichBlock {
    enum class Kind : quint8 { text, heading, code, rule, table };
    Kind kind = Kind::text;
    BlockJoin join = BlockJoin::paragraph;
    int headingLevel = 0;
    /// From the outside: 'q' a quotation, 'b' an item with a bullet, 'n' one with a number.
    QString containers;
    QString marker;  ///< "•", "3." or a box; empty: none.
    QString language;
    bool isFirst = true, isLast = true;  ///< Line of a code block.
    RichText content;                    ///< Lines within it end with U+2028.
    QVector<QVector<RichText>> rows;     ///< The first one is the head, unless isHeadless.
    QVector<Qt::Alignment> alignments;   ///< Of the columns.
    bool isHeadless = false;             ///< Goes on from a table that was cut.
    bool operator==(const RichBlock&) const = default;
};

}  // namespace hokku::desktop
