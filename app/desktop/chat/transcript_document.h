// SPDX-License-Identifier: Apache-2.0
// TranscriptDocument: keeps a text document in step with the turns of a conversation, and knows
// which characters of it belong to which turn. It draws nothing and scrolls nothing.
#pragma once

#include <QCoreApplication>
#include <QSet>
#include <QTextDocument>
#include <QVector>

#include "chat/transcript.h"
#include "chat/turn_section.h"

namespace hokku::desktop {

/// In the document each turn is: its speaker (read, not seen), its thought folded or not, its
/// text, notes on how it ended, and a tail that leaves room for buttons.
///
/// Threads: the UI thread. `document` must outlive it, and nobody else may change it.
class TranscriptDocument {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::TranscriptDocument)

  public:
    explicit TranscriptDocument(QTextDocument& document);

    /// Those that were there stay as they are. The others are laid out from the last one up, and
    /// what is not when the deadline is over, by later calls of layout().
    void setTurns(const QVector<Turn>& turns, QDeadlineTimer deadline = QDeadlineTimer::Forever);
    void append(const Turn& turn);
    void update(const Turn& turn);
    /// Goes on with the last turn; layout() shows it.
    void streamText(const QString& text);
    void streamThought(const QString& text);
    void layout(QDeadlineTimer deadline = QDeadlineTimer::Forever);
    /// Whether all turns are there, but for what was streamed since.
    [[nodiscard]] bool isLaidOut() const { return m_isLaidOut; }

    /// Lays out everything anew: the theme, the font, the language or the width has changed.
    void relayout(double width, QDeadlineTimer deadline = QDeadlineTimer::Forever);
    void toggleThought(MessageId id);
    void toggleDetails(MessageId id);
    [[nodiscard]] bool hasDetails(MessageId id) const { return m_detailed.contains(id); }

    struct Range {
        int begin = 0, end = 0;  ///< Characters of the document; the turn begins behind `begin`.
        int textBegin = 0, textEnd = 0;  ///< Of its content.
        int tail = 0;                    ///< Position of its last block.
    };
    [[nodiscard]] qsizetype size() const { return m_turns.size(); }
    /// Without content and thought, which source() and the document hold.
    [[nodiscard]] const Turn& turn(qsizetype index) const { return m_turns[index].turn; }
    [[nodiscard]] const QString& source(qsizetype index) const;
    [[nodiscard]] Range range(qsizetype index) const;
    [[nodiscard]] qsizetype indexOf(MessageId id) const;  ///< -1: there is none.
    /// The turn that a character belongs to; -1 where there are none.
    [[nodiscard]] qsizetype indexAt(int position) const;

    /// What lies between two characters, for the clipboard. Markdown: the source of whole chunks
    /// and turns, plain text of the rest.
    [[nodiscard]] QString plainText(int begin, int end) const;
    [[nodiscard]] QString markdown(int begin, int end) const;

    /// Links of the document that are ours: "hokku:thought/12" unfolds the thought of a turn.
    static constexpr QLatin1String kThoughtLink{"hokku:thought/"};

  private:
    struct Entry {
        explicit Entry(const Turn& turn);
        Turn turn;
        TurnSection thought, content;
        QString thoughtTitle;                                 ///< As shown.
        int headLength = 0, titleLength = 0, footLength = 0;  ///< All 0: not laid out yet.
        [[nodiscard]] int length() const {
            return headLength + titleLength + thought.length() + content.length() + footLength;
        }
    };

    void layoutTurn(qsizetype index, QDeadlineTimer deadline);
    void layoutContent(qsizetype index, TurnWriter& writer, QDeadlineTimer deadline);
    void forgetStartsAfter(qsizetype index);
    void layoutTitle(qsizetype index, TurnWriter& writer);
    void layoutThought(qsizetype index, TurnWriter& writer);
    void layoutFoot(qsizetype index, TurnWriter& writer);
    void removeFrom(qsizetype index);
    [[nodiscard]] int start(qsizetype index) const;
    [[nodiscard]] QString thoughtTitle(const Entry& entry) const;
    [[nodiscard]] QString speaker(const Turn& turn) const;

    QTextDocument& m_document;
    TurnFormats m_formats;
    QVector<Entry> m_turns;
    mutable QVector<int> m_starts;  ///< Of the first turns, as far as they are known.
    QSet<MessageId> m_unfolded, m_detailed;
    bool m_isLaidOut = true;
};

}  // namespace hokku::desktop
