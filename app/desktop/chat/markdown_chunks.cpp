// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_chunks.h"

#include "chat/markdown_lines.h"

namespace hokku::desktop {
namespace {

/// Behind the indentation, this many characters tell a list marker from text ("123456789. ").
constexpr qsizetype kHeadSize = 12;

/// A delimiter row of a table: "|---|:-:|", with at least one bar.
bool isTableDelimiter(QStringView line) {
    bool hasBar = false, hasDash = false;
    for (const QChar c : line) {
        if (c == QLatin1Char('|')) {
            hasBar = true;
        } else if (c == QLatin1Char('-')) {
            hasDash = true;
        } else if (c != QLatin1Char(':') && !isBlankChar(c)) {
            return false;
        }
    }
    return hasBar && hasDash;
}

bool isHeading(QStringView text) {
    qsizetype size = 0;
    while (size < text.size() && text[size] == QLatin1Char('#')) ++size;
    return size > 0 && size <= 6 && (size == text.size() || isBlankChar(text[size]));
}

}  // namespace

void MarkdownChunks::clear() {
    *this = MarkdownChunks();
}

QString MarkdownChunks::text(qsizetype chunk) const {
    const MarkdownChunk& c = m_chunks[chunk];
    return m_source.mid(c.begin, c.end - c.begin);
}

void MarkdownChunks::append(const QString& text) {
    if (text.contains(QLatin1Char('\r'))) {
        QString clean = text;
        m_source += clean.remove(QLatin1Char('\r'));
    } else {
        m_source += text;
    }
    if (m_source.isEmpty()) return;
    if (m_chunks.isEmpty()) m_chunks.append(MarkdownChunk{});
    // Every decision is taken at a position that the text before it fixes: the end of the head of
    // a line, of a line, or of the longest line that stays whole.
    for (;;) {
        const qsizetype newline = m_source.indexOf(QLatin1Char('\n'), m_lineBegin);
        const qsizetype end = newline < 0 ? m_source.size() : newline;
        if (!m_isHeadDone) {
            const qsizetype head = headEnd();
            if (head > end || (newline < 0 && head == end)) break;
            scanHead(qMin(head, end));
        }
        while (end - m_lineBegin > kLongLine) cutLongLine(m_lineBegin + kLongLine);
        if (newline < 0) break;
        scanLine(newline);
    }
    m_chunks.last().end = m_source.size();
}

/// Where the head of the current line ends, if the text goes on so far; past the text else.
qsizetype MarkdownChunks::headEnd() const {
    qsizetype i = m_lineBegin;
    while (i < m_source.size() && isBlankChar(m_source[i])) ++i;
    const qsizetype newline = m_source.indexOf(QLatin1Char('\n'), m_lineBegin);
    const qsizetype head = i + kHeadSize;
    if (newline >= 0 && newline < head) return newline;
    return head < m_source.size() ? head : m_source.size() + 1;
}

void MarkdownChunks::scanHead(qsizetype end) {
    m_isHeadDone = true;
    const QStringView head = QStringView(m_source).mid(m_lineBegin, end - m_lineBegin);
    const qsizetype ink = firstInk(head);
    m_isBlankHead = ink == head.size();
    m_isQuote = false;
    if (m_isBlankHead) return;
    const qsizetype indent = indentOf(head);
    if (m_fence.isOpen()) {
        // A line left of its list item ends the item and the code in it.
        if (indent < m_fence.container) {
            m_fence = {};
        } else {
            if (m_lineBegin - m_chunks.last().begin >= kLongChunk && head[ink] != m_fence.mark)
                cut(m_lineBegin, ChunkStart::code);
            return;
        }
    }
    const QStringView text = head.mid(ink);
    const qsizetype marker = markerSize(text);
    const bool isAfterBlank = m_isAfterBlank || m_lineBegin == m_chunks.last().begin;
    const bool isLong = m_lineBegin - m_chunks.last().begin >= kLongChunk;
    if (isAfterBlank && !(m_isInList && (marker > 0 || indent > 0))) {
        cut(m_lineBegin, ChunkStart::fresh);
    } else if (isLong && m_isInList && marker > 0 && indent <= m_listIndent + 1) {
        cut(m_lineBegin, ChunkStart::list);
    } else if (!m_tableHead.isEmpty() && m_lineBegin - m_chunks.last().begin >= kLongTable) {
        cut(m_lineBegin, ChunkStart::table);
    } else if (isLong && !m_isInList && !QStringLiteral("-=|:").contains(text[0])) {
        // Those may underline a heading or begin a table with the line before.
        cut(m_lineBegin, ChunkStart::paragraph);
    } else if (m_lineBegin - m_chunks.last().begin >= 4 * kLongChunk) {
        cut(m_lineBegin, ChunkStart::fresh);
    }
    m_isQuote = text[0] == QLatin1Char('>');
    while (!m_itemContents.isEmpty() && m_itemContents.last() > indent) m_itemContents.removeLast();
    if (marker == 0 || m_isQuote) return;
    if (!m_isInList) m_listIndent = indent;
    m_isInList = true;
    m_itemContents.append(indent + marker);
}

void MarkdownChunks::scanLine(qsizetype end) {
    const QString line = m_source.mid(m_lineBegin, end - m_lineBegin);
    const qsizetype ink = firstInk(line);
    const bool isBlank = ink == line.size();
    bool isBlockEnd = false;
    if (isBlank) {
        m_tableHead.clear();
        m_previousLine.clear();
    } else if (!m_isQuote) {
        const bool wasOpen = m_fence.isOpen();
        const bool isFence = scanFence(line, indentOf(line));
        if (wasOpen || isFence) {
            m_tableHead.clear();
            m_previousLine.clear();
            isBlockEnd = wasOpen && isFence && m_itemContents.isEmpty();
        } else {
            if (!scanLink(line)) scanTable(line);
            isBlockEnd = !m_isInList && isHeading(QStringView(line).mid(ink));
        }
    }
    m_isAfterBlank = isBlank && !m_fence.isOpen();
    m_lineBegin = end + 1;
    m_isHeadDone = false;
    // Nothing can go on behind a heading or a fence that was closed: the next line is a new block.
    if (isBlockEnd) {
        m_previousLine.clear();
        m_isInList = false;
        m_isAfterBlank = true;
    }
}

/// A definition begins a block, or follows another one.
bool MarkdownChunks::scanLink(const QString& line) {
    if (!m_previousLine.isEmpty()) return false;
    const auto definition = parseLinkDefinition(line);
    if (definition) m_links.add(*definition);
    return definition.has_value();
}

void MarkdownChunks::close() {
    const QString line = m_source.mid(m_lineBegin);
    if (!m_isQuote && !m_fence.isOpen()) scanLink(line);
}

void MarkdownChunks::scanTable(const QString& line) {
    if (m_tableHead.isEmpty() && isTableDelimiter(line) &&
        m_previousLine.contains(QLatin1Char('|')))
        m_tableHead = m_previousLine + QLatin1Char('\n') + line + QLatin1Char('\n');
    m_previousLine = line;
}

/// Whether the line opens or closes a code block.
bool MarkdownChunks::scanFence(const QString& line, qsizetype indent) {
    const qsizetype ink = firstInk(line);
    QStringView text = QStringView(line).mid(ink);
    if (m_fence.isOpen()) {
        const qsizetype size = fenceSize(text);
        if (size < m_fence.size || text[0] != m_fence.mark) return false;
        if (!text.mid(size).trimmed().isEmpty()) return false;
        m_fence = {};
        return true;
    }
    qsizetype container = m_itemContents.isEmpty() ? 0 : m_itemContents.last();
    for (qsizetype marker = markerSize(text); marker > 0 && marker < text.size();
         marker = markerSize(text)) {
        text = text.mid(marker);
        indent += marker;
        container = indent;
    }
    const qsizetype size = fenceSize(text);
    if (size == 0) return false;
    if (text[0] == QLatin1Char('`') && text.mid(size).contains(QLatin1Char('`'))) return false;
    m_fence = {.mark = text[0],
               .size = size,
               .container = container,
               .opening = QString(indent, QLatin1Char(' ')) + text.toString() + QLatin1Char('\n')};
    return true;
}

/// Ends the chunk within the line that is being read, at the last space before `end`.
void MarkdownChunks::cutLongLine(qsizetype end) {
    qsizetype space = end;
    while (space > m_lineBegin && !isBlankChar(m_source[space - 1])) --space;
    // Not within a marker or a fence, which the head would be.
    const bool isWord = space <= m_lineBegin + kLongLine / 2;
    if (isWord) {
        space = end;
        if (m_source[space].isLowSurrogate()) --space;
    }
    const bool isCode = m_fence.isOpen();
    cut(space, isWord || isCode ? ChunkStart::word : ChunkStart::sentence);
    m_chunks.last().isInCode = isCode;
    if (isCode) m_chunks.last().prefix = m_fence.opening;
    if (m_isQuote) m_chunks.last().prefix = QStringLiteral("> ");
    m_lineBegin = space;
}

void MarkdownChunks::cut(qsizetype position, ChunkStart start) {
    m_isAfterBlank = false;
    if (start != ChunkStart::list) {
        m_isInList = false;
        m_itemContents.clear();
    }
    if (start != ChunkStart::code && start != ChunkStart::word) m_fence.container = 0;
    MarkdownChunk next{.begin = position, .end = position, .start = start, .prefix = {}};
    if (start == ChunkStart::table) {
        next.prefix = m_tableHead;
    } else {
        m_tableHead.clear();
    }
    if (start == ChunkStart::code) {
        next.prefix = m_fence.opening;
        next.isInCode = true;
        m_fence.container = 0;
    }
    m_chunks.last().end = position;
    if (m_chunks.last().begin == position) {
        next.start = m_chunks.last().start;  // An empty chunk: begin it anew.
        next.prefix = m_chunks.last().prefix;
        m_chunks.removeLast();
    }
    m_chunks.append(next);
}

}  // namespace hokku::desktop
