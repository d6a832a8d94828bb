// SPDX-License-Identifier: Apache-2.0
#include "chat/turn_section.h"

#include <algorithm>
#include <numeric>

namespace hokku::desktop {
namespace {

/// What Qt lays out only when a change of the document ends, where no deadline is asked: of a font
/// with pictures it decodes one for each emoji, which takes 0.07 ms (Noto Color Emoji, Qt 6.4, a
/// Xeon with AMX, 2026-11-29). Characters of two code units are counted, rare ideographs too.
constexpr qsizetype kMostDear = 400;

qsizetype numDear(const QString& text) {
    return std::count_if(text.begin(), text.end(), [](QChar c) { return c.isHighSurrogate(); });
}

}  // namespace

void TurnSection::append(const QString& text) {
    if (text.isEmpty()) return;
    if (m_tone == TurnTone::person) {
        m_plain += text;
    } else {
        m_chunks.append(text);
    }
    m_isDirty = true;
}

void TurnSection::close() {
    if (m_tone == TurnTone::person) return;
    m_chunks.close();
    if (m_chunks.links().labels().size() > m_numLinks) m_isDirty = true;
}

const QString& TurnSection::source() const {
    return m_tone == TurnTone::person ? m_plain : m_chunks.source();
}

void TurnSection::forgetLayout() {
    m_lengths.clear();
    m_length = m_finished = 0;
    m_numFinished = 0;
    m_context = MarkdownContext();
    m_contexts.clear();
    m_unlinked.clear();
    m_numLinks = 0;
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
    relink(writer, position);
    const qsizetype count = m_chunks.chunks().size();
    qsizetype dear = 0;
    while (m_numFinished < count) {
        const MarkdownContext before = m_context;
        layoutChunk(writer, position + m_finished, m_numFinished);
        if (m_numFinished + 1 == count) break;
        m_contexts.append(before);
        const QString text = m_chunks.text(m_numFinished);
        dear += numDear(text);
        for (const QString& label : labelsIn(text))
            if (!m_chunks.links().contains(label)) m_unlinked[label].append(m_numFinished);
        m_finished += m_lengths[m_numFinished++];
        m_shown.clear();
        m_shownLengths.clear();
        m_isDirty = deadline.hasExpired() || (dear > kMostDear && !deadline.isForever());
        if (m_isDirty) break;
    }
}

/// Lays out those finished chunks anew whose links have got an address since.
void TurnSection::relink(TurnWriter& writer, int position) {
    const QStringList& labels = m_chunks.links().labels();
    QVector<qsizetype> changed;
    for (; m_numLinks < labels.size(); ++m_numLinks) changed += m_unlinked.take(labels[m_numLinks]);
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const qsizetype chunk : changed) {
        const int begin =
            position + std::accumulate(m_lengths.begin(), m_lengths.begin() + chunk, 0);
        writer.remove(begin, m_lengths[chunk]);
        MarkdownContext context = m_contexts[chunk];
        const QVector<int> lengths = writer.write(begin, parse(chunk, context), m_tone);
        const int length = std::accumulate(lengths.begin(), lengths.end(), 0);
        const int more = length - std::exchange(m_lengths[chunk], length);
        m_length += more;
        m_finished += more;
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
    const QString text = m_chunks.text(chunk);
    const LinkDefinitions& links = m_chunks.links();
    const QString preamble = links.labels().isEmpty() ? QString() : links.preamble(labelsIn(text));
    return parseMarkdown(chunks[chunk], text, isCutInCode, context, preamble);
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
