// SPDX-License-Identifier: Apache-2.0
#include "chat/transcript_document.h"

#include <QGuiApplication>
#include <QLocale>
#include <QTextBlock>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// One change of the document, laid out once at its end.
class Edit {
  public:
    explicit Edit(QTextDocument& document) : m_cursor(&document) { m_cursor.beginEditBlock(); }
    ~Edit() { m_cursor.endEditBlock(); }
    Edit(const Edit&) = delete;
    Edit& operator=(const Edit&) = delete;

  private:
    QTextCursor m_cursor;
};

TurnTone contentTone(const Turn& turn) {
    return turn.role == QLatin1String("assistant") ? TurnTone::reply : TurnTone::person;
}

QTextBlockFormat noteFormat(const TurnFormats& formats) {
    QTextBlockFormat format = formats.block;
    format.setProperty(kBlockPart, static_cast<int>(BlockPart::note));
    format.setTopMargin(formats.gap / 2);
    return format;
}

}  // namespace

TranscriptDocument::Entry::Entry(const Turn& source)
    : turn(source), thought(TurnTone::thought), content(contentTone(source)) {
    content.append(turn.content);
    thought.append(turn.thought);
    if (turn.state != MessageState::streaming) content.close();
    turn.content.clear();
    turn.thought.clear();
}

TranscriptDocument::TranscriptDocument(QTextDocument& document)
    : m_document(document), m_formats(kReadingWidth) {
    document.setUndoRedoEnabled(false);
    document.setDocumentMargin(kColumnMargin);
    QTextOption option = document.defaultTextOption();
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    document.setDefaultTextOption(option);
    relayout(kReadingWidth);
}

// ---- Turns -----------------------------------------------------------------------------------

void TranscriptDocument::setTurns(const QVector<Turn>& turns, QDeadlineTimer deadline) {
    const Edit edit(m_document);
    qsizetype same = 0;
    while (same < qMin(turns.size(), m_turns.size()) && turns[same].id == m_turns[same].turn.id &&
           turns[same].role == m_turns[same].turn.role)
        ++same;
    removeFrom(same);
    for (qsizetype i = 0; i < same; ++i) update(turns[i]);
    for (qsizetype i = same; i < turns.size(); ++i) m_turns.append(Entry(turns[i]));
    layout(deadline);
}

void TranscriptDocument::append(const Turn& turn) {
    const Edit edit(m_document);
    m_turns.append(Entry(turn));
    layoutTurn(m_turns.size() - 1, QDeadlineTimer::Forever);
}

void TranscriptDocument::update(const Turn& turn) {
    const qsizetype index = indexOf(turn.id);
    if (index < 0) return;
    Entry& entry = m_turns[index];
    const bool isSame = entry.content.source() == turn.content &&
                        entry.thought.source() == turn.thought && entry.turn.state == turn.state &&
                        entry.turn.notes == turn.notes && entry.turn.details == turn.details &&
                        entry.turn.error == turn.error && entry.turn.summary == turn.summary &&
                        entry.turn.isCut == turn.isCut && entry.turn.thoughtMs == turn.thoughtMs;
    entry.turn.version = turn.version;
    entry.turn.numVersions = turn.numVersions;
    if (isSame) return;
    const Edit edit(m_document);
    const bool goesOn = turn.content.startsWith(entry.content.source()) &&
                        turn.thought.startsWith(entry.thought.source());
    if (!goesOn || entry.headLength == 0) {
        TurnWriter(m_document, m_formats).remove(start(index), entry.length());
        entry = Entry(turn);
        return layoutTurn(index, QDeadlineTimer::Forever);
    }
    entry.content.append(turn.content.mid(entry.content.source().size()));
    entry.thought.append(turn.thought.mid(entry.thought.source().size()));
    entry.turn = turn;
    if (turn.state != MessageState::streaming) entry.content.close();
    entry.turn.content.clear();
    entry.turn.thought.clear();
    TurnWriter writer(m_document, m_formats);
    layoutContent(index, writer, QDeadlineTimer::Forever);
    layoutFoot(index, writer);
}

void TranscriptDocument::streamText(const QString& text) {
    if (!m_turns.isEmpty()) m_turns.last().content.append(text);
}

void TranscriptDocument::streamThought(const QString& text) {
    if (!m_turns.isEmpty()) m_turns.last().thought.append(text);
}

void TranscriptDocument::layout(QDeadlineTimer deadline) {
    const Edit edit(m_document);
    m_isLaidOut = true;
    TurnWriter writer(m_document, m_formats);
    bool hasWorked = false;  // Each call gets on, whatever its deadline.
    for (qsizetype i = m_turns.size() - 1; i >= 0; --i) {
        const Entry& entry = m_turns[i];
        const bool isThere = entry.headLength > 0;
        const bool isWhole = isThere && entry.content.isLaidOut();
        if (isWhole && i + 1 < m_turns.size()) continue;
        if (!isWhole && hasWorked && deadline.hasExpired()) {
            m_isLaidOut = false;
            break;
        }
        if (isThere) {
            layoutContent(i, writer, deadline);  // Of the last turn also its title.
        } else {
            layoutTurn(i, deadline);
        }
        hasWorked = hasWorked || !isWhole;
        if (!entry.content.isLaidOut()) m_isLaidOut = false;
    }
}

void TranscriptDocument::relayout(double width, QDeadlineTimer deadline) {
    m_formats = TurnFormats(width);
    QTextOption option = m_document.defaultTextOption();
    option.setTabStopDistance(kCodeTab * m_formats.codeEm);
    m_document.setDefaultTextOption(option);
    const Edit edit(m_document);
    QTextCursor all(&m_document);
    all.select(QTextCursor::Document);
    all.removeSelectedText();
    // The block that everything is written behind.
    all.setBlockFormat(m_formats.hiddenBlock);
    all.setBlockCharFormat(m_formats.hidden);
    m_starts.clear();
    for (Entry& entry : m_turns) {
        entry.headLength = entry.titleLength = entry.footLength = 0;
        entry.thoughtTitle.clear();
        entry.content.forgetLayout();
        entry.thought.forgetLayout();
    }
    layout(deadline);
}

void TranscriptDocument::toggleThought(MessageId id) {
    const qsizetype index = indexOf(id);
    if (index < 0) return;
    if (!m_unfolded.remove(id)) m_unfolded.insert(id);
    const Edit edit(m_document);
    TurnWriter writer(m_document, m_formats);
    layoutContent(index, writer, QDeadlineTimer::Forever);
}

void TranscriptDocument::toggleDetails(MessageId id) {
    const qsizetype index = indexOf(id);
    if (index < 0) return;
    if (!m_detailed.remove(id)) m_detailed.insert(id);
    const Edit edit(m_document);
    TurnWriter writer(m_document, m_formats);
    layoutFoot(index, writer);
}

void TranscriptDocument::removeFrom(qsizetype index) {
    if (index >= m_turns.size()) return;
    const int begin = start(index);
    TurnWriter(m_document, m_formats).remove(begin, m_document.characterCount() - 1 - begin);
    m_turns.remove(index, m_turns.size() - index);
    forgetStartsAfter(index - 1);
}

// ---- Layout ----------------------------------------------------------------------------------

void TranscriptDocument::layoutTurn(qsizetype index, QDeadlineTimer deadline) {
    TurnWriter writer(m_document, m_formats);
    Entry& entry = m_turns[index];
    QTextBlockFormat head = m_formats.hiddenBlock;
    head.setTopMargin(index == 0 ? kGrid : 0);
    entry.headLength = writer.writeLine(start(index), head, m_formats.hidden, speaker(entry.turn));
    layoutContent(index, writer, deadline);
    layoutFoot(index, writer);
}

/// All between the head and the foot.
void TranscriptDocument::layoutContent(qsizetype index, TurnWriter& writer,
                                       QDeadlineTimer deadline) {
    layoutTitle(index, writer);
    layoutThought(index, writer);
    Entry& entry = m_turns[index];
    const int position = start(index) + entry.headLength + entry.titleLength;
    entry.content.layout(writer, position + entry.thought.length(), deadline);
    forgetStartsAfter(index);
}

void TranscriptDocument::forgetStartsAfter(qsizetype index) {
    m_starts.resize(qMin(m_starts.size(), index + 1));
}

void TranscriptDocument::layoutTitle(qsizetype index, TurnWriter& writer) {
    Entry& entry = m_turns[index];
    const QString title = thoughtTitle(entry);
    if (title == entry.thoughtTitle) return;
    const int position = start(index) + entry.headLength;
    writer.remove(position, entry.titleLength);
    QTextCharFormat format = m_formats.faint;
    format.setAnchor(true);
    format.setAnchorHref(kThoughtLink + QString::number(entry.turn.id));
    entry.titleLength =
        title.isEmpty() ? 0 : writer.writeLine(position, noteFormat(m_formats), format, title);
    entry.thoughtTitle = title;
}

void TranscriptDocument::layoutThought(qsizetype index, TurnWriter& writer) {
    Entry& entry = m_turns[index];
    const int position = start(index) + entry.headLength + entry.titleLength;
    if (m_unfolded.contains(entry.turn.id))
        return entry.thought.layout(writer, position, QDeadlineTimer::Forever);
    writer.remove(position, entry.thought.length());
    entry.thought.forgetLayout();
}

void TranscriptDocument::layoutFoot(qsizetype index, TurnWriter& writer) {
    Entry& entry = m_turns[index];
    const int begin = start(index) + entry.length() - entry.footLength;
    writer.remove(begin, entry.footLength);
    int position = begin;
    const auto note = [&](const QString& text, const QTextCharFormat& format) {
        QTextBlockFormat block = noteFormat(m_formats);
        if (position == begin) block.setTopMargin(m_formats.gap);
        position += writer.writeLine(position, block, format, text);
    };
    QTextCharFormat warning = m_formats.faint;
    warning.setForeground(Theme::instance().colors().warning);
    const Turn& turn = entry.turn;
    if (turn.state == MessageState::failed)
        note(turn.error.isEmpty() ? tr("The reply failed.")
                                  : tr("The reply failed: %1").arg(turn.error),
             warning);
    if (turn.state == MessageState::stopped) note(tr("Stopped before the end."), m_formats.faint);
    for (const QString& line : turn.notes) note(line, m_formats.faint);
    if (turn.isCut) note(tr("Cut off before the end."), m_formats.faint);
    if (hasDetails(turn.id) && !turn.details.isEmpty()) note(turn.details, m_formats.faint);
    if (hasDetails(turn.id) && !turn.summary.isEmpty())
        note(tr("The summary: %1").arg(turn.summary), m_formats.faint);
    QTextBlockFormat tail = m_formats.hiddenBlock;
    tail.setProperty(kBlockPart, static_cast<int>(BlockPart::tail));
    tail.setLineHeight(kActionsHeight + kGrid, QTextBlockFormat::FixedHeight);
    position += writer.writeLine(position, tail, m_formats.hidden, {});
    entry.footLength = position - begin;
    forgetStartsAfter(index);
}

QString TranscriptDocument::thoughtTitle(const Entry& entry) const {
    if (entry.thought.isEmpty()) return {};
    const QString folded =
        QGuiApplication::isRightToLeft() ? QStringLiteral("◂ ") : QStringLiteral("▸ ");
    const QString arrow = m_unfolded.contains(entry.turn.id) ? QStringLiteral("▾ ") : folded;
    const bool isThinking = entry.turn.state == MessageState::streaming && entry.content.isEmpty();
    if (isThinking) return arrow + tr("Thinking…");
    const qint64 seconds = qMax<qint64>(1, (entry.turn.thoughtMs + 500) / 1000);
    if (entry.turn.thoughtMs <= 0) return arrow + tr("Thought");
    if (seconds < 60) return arrow + tr("Thought for %1 s").arg(seconds);
    return arrow + tr("Thought for %1 min %2 s").arg(seconds / 60).arg(seconds % 60);
}

QString TranscriptDocument::speaker(const Turn& turn) const {
    if (turn.role == QLatin1String("user")) return tr("You:");
    if (turn.role == QLatin1String("assistant")) return tr("Reply:");
    if (turn.role == QLatin1String("system")) return tr("Instructions:");
    return tr("Note:");
}

// ---- Places ----------------------------------------------------------------------------------

int TranscriptDocument::start(qsizetype index) const {
    if (m_starts.isEmpty()) m_starts.append(0);
    while (m_starts.size() <= index)
        m_starts.append(m_starts.last() + m_turns[m_starts.size() - 1].length());
    return m_starts[index];
}

const QString& TranscriptDocument::source(qsizetype index) const {
    return m_turns[index].content.source();
}

TranscriptDocument::Range TranscriptDocument::range(qsizetype index) const {
    const Entry& entry = m_turns[index];
    const int begin = start(index);
    const int text = begin + entry.headLength + entry.titleLength + entry.thought.length();
    return {.begin = begin,
            .end = begin + entry.length(),
            .textBegin = text,
            .textEnd = text + entry.content.length(),
            .tail = begin + entry.length()};
}

qsizetype TranscriptDocument::indexOf(MessageId id) const {
    for (qsizetype i = m_turns.size() - 1; i >= 0; --i)
        if (m_turns[i].turn.id == id) return i;
    return -1;
}

qsizetype TranscriptDocument::indexAt(int position) const {
    if (m_turns.isEmpty()) return -1;
    if (position > start(m_turns.size() - 1)) return m_turns.size() - 1;
    const auto after = std::lower_bound(m_starts.begin(), m_starts.end(), position);
    return qMax<qsizetype>(0, after - m_starts.begin() - 1);
}

}  // namespace hokku::desktop
