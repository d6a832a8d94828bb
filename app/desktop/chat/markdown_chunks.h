// SPDX-License-Identifier: Apache-2.0
// MarkdownChunks: cuts Markdown that arrives in pieces into top-level chunks, so that what is
// finished is parsed and laid out once. It decides where blocks end, not what they look like.
#pragma once

#include <QString>
#include <QVector>

#include "chat/markdown_links.h"

namespace hokku::desktop {

/// How a chunk goes on from the one before it, when a long block had to be cut.
enum class ChunkStart {
    fresh,      ///< A new block.
    paragraph,  ///< At the end of a line of the same paragraph.
    sentence,   ///< Between two words of the same line.
    word,       ///< Within a word or a line of code that never ends.
    list,       ///< The next item of the same list.
    table,      ///< The next row of the same table; `prefix` holds its head.
    code,       ///< The next line of the same code block.
};

struct MarkdownChunk {
    qsizetype begin = 0, end = 0;  ///< In source().
    ChunkStart start = ChunkStart::fresh;
    bool isInCode = false;  ///< Goes on within a code block; `prefix` holds its fence.
    QString prefix;         ///< To be read before the text, and not shown.
};

/// The chunks depend on the text alone, never on how it was split on its way. All but the last
/// are final. Their texts joined give source().
///
/// Threads: one at a time.
/// Cost   : O(text), once.
class MarkdownChunks {
  public:
    /// Carriage returns are left out.
    void append(const QString& text);
    void clear();
    [[nodiscard]] const QString& source() const { return m_source; }
    [[nodiscard]] const QVector<MarkdownChunk>& chunks() const { return m_chunks; }
    [[nodiscard]] QString text(qsizetype chunk) const;
    /// Addresses of reference links, which any chunk may use.
    [[nodiscard]] const LinkDefinitions& links() const { return m_links; }
    /// Nothing more comes: what stands on the last line counts, too.
    void close();

    /// From this many characters on, a chunk ends at the next line, item or row.
    static constexpr qsizetype kLongChunk = 3000;
    /// A table, whose cells are laid out several times over, from this many on.
    static constexpr qsizetype kLongTable = 1500;
    /// A line longer than this is cut between words.
    static constexpr qsizetype kLongLine = 1500;

  private:
    struct Fence {
        QChar mark;  ///< Null: no fence is open.
        qsizetype size = 0;
        qsizetype container = 0;  ///< Indentation of the list item that it is in.
        QString opening;          ///< Its line.
        [[nodiscard]] bool isOpen() const { return !mark.isNull(); }
    };

    [[nodiscard]] qsizetype headEnd() const;
    void scanHead(qsizetype end);
    void scanLine(qsizetype end);
    bool scanLink(const QString& line);
    void scanTable(const QString& line);
    bool scanFence(const QString& line, qsizetype indent);
    void cutLongLine(qsizetype end);
    void cut(qsizetype position, ChunkStart start);

    QString m_source;
    QVector<MarkdownChunk> m_chunks;
    qsizetype m_lineBegin = 0;    ///< Of the line that is being read.
    bool m_isHeadDone = false;    ///< Whether its first characters were looked at.
    bool m_isAfterBlank = false;  ///< The line before was blank.
    bool m_isInList = false;
    bool m_isQuote = false;      ///< The line begins with '>': its inner blocks do not count.
    bool m_isBlankHead = true;   ///< So far the line is blank.
    qsizetype m_listIndent = 0;  ///< Of the markers of the outermost list.
    QVector<qsizetype> m_itemContents;  ///< Where the text of the open items begins.
    Fence m_fence;
    QString m_previousLine;  ///< Empty at the start of a block.
    LinkDefinitions m_links;
    QString m_tableHead;  ///< Head and delimiter rows; empty outside of tables.
};

}  // namespace hokku::desktop
