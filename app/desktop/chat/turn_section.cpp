// SPDX-License-Identifier: Apache-2.0
#include "chat/turn_section.h"

#include <numeric>

namespace hokku::desktop {

void TurnSection::append(const QString& text) {
    if (text.isEmpty()) return;
    if (m_tone == TurnTone::person) {
        m_plain += text;
    } else {
        m_chunks.append(text);
    }
    m_isDirty = true;
}

const QString& TurnSection::source() const {
    return m_tone == TurnTone::person ? m_plain : m_chunks.source();
}

void TurnSection::forgetLayout() {
    m_lengths.clear();
    m_length = m_finished = 0;
    m_numFinished = 0;
    m_context = MarkdownContext();
    m_shown.clear();
    m_shownLengths.clear();
    m_isDirty = !isEmpty();
}

void TurnSection::clear() {
    forgetLayout();
    m_chunks.clear();
    m_plain.clear();
    m_isDirty = false;
}

void TurnSection::layout(TurnWriter& writer, int position, QDeadlineTimer deadline) {
    if (!std::exchange(m_isDirty, false)) return;
    if (m_tone == TurnTone::person) {
        writer.remove(position, m_length);
        QString text = m_plain;
        const auto lengths =
            writer.write(position, plainBlocks(text.remove(QLatin1Char('\r'))), m_tone);
        m_length = std::accumulate(lengths.begin(), lengths.end(), 0);
        return;
    }
    const qsizetype count = m_chunks.chunks().size();
    while (m_numFinished < count) {
        layoutChunk(writer, position + m_finished, m_numFinished);
        if (m_numFinished + 1 == count) break;
        m_finished += m_lengths[m_numFinished++];
        m_shown.clear();
        m_shownLengths.clear();
        m_isDirty = deadline.hasExpired();
        if (m_isDirty) break;
    }
}

void TurnSection::layoutChunk(TurnWriter& writer, int position, qsizetype chunk) {
    MarkdownContext context = m_context;
    QVector<RichBlock> blocks = parse(chunk, context);
    qsizetype same = 0;
    while (same < qMin(blocks.size(), m_shown.size()) && blocks[same] == m_shown[same]) ++same;
    const auto begin = m_shownLengths.begin();
    const int kept = std::accumulate(begin, begin + same, 0);
    const int old = std::accumulate(begin + same, m_shownLengths.end(), 0);
    writer.remove(position + kept, old);
    m_shownLengths.resize(same);
    m_shownLengths += writer.write(position + kept, blocks.mid(same), m_tone);
    const int length = std::accumulate(m_shownLengths.begin(), m_shownLengths.end(), 0);
    if (chunk == m_lengths.size()) m_lengths.append(0);
    m_length += length - std::exchange(m_lengths[chunk], length);
    m_shown = std::move(blocks);
    if (chunk + 1 < m_chunks.chunks().size()) m_context = context;
}

QVector<RichBlock> TurnSection::parse(qsizetype chunk, MarkdownContext& context) const {
    const QVector<MarkdownChunk>& chunks = m_chunks.chunks();
    const bool isCutInCode = chunk + 1 < chunks.size() && chunks[chunk + 1].isInCode;
    return parseMarkdown(chunks[chunk], m_chunks.text(chunk), isCutInCode, context);
}

QVector<TurnSection::Piece> TurnSection::pieces() const {
    if (m_tone == TurnTone::person) return {{0, m_length, m_plain}};
    QVector<Piece> pieces;
    int begin = 0;
    for (qsizetype i = 0; i < m_lengths.size(); ++i) {
        pieces.append({begin, m_lengths[i], m_chunks.text(i)});
        begin += m_lengths[i];
    }
    return pieces;
}

}  // namespace hokku::desktop
