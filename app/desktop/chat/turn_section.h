// SPDX-License-Identifier: Apache-2.0
// TurnSection: the text of a turn, or its thought, and the blocks of the document that show it.
// What was finished stays as it is; only the last chunk is compared and written again.
#pragma once

#include <QDeadlineTimer>

#include "chat/markdown_chunks.h"
#include "chat/markdown_parser.h"
#include "chat/turn_writer.h"

namespace hokku::desktop {

class TurnSection {
  public:
    explicit TurnSection(TurnTone tone) : m_tone(tone) {}

    /// Text that layout() will show.
    void append(const QString& text);
    /// Nothing more will be appended.
    void close();
    /// As it was given, without carriage returns.
    [[nodiscard]] const QString& source() const;
    [[nodiscard]] bool isEmpty() const { return source().isEmpty(); }

    /// Brings the document up to date, or nearer to it when the deadline is over, or would be once
    /// the document is laid out; at least one chunk is written. `position`: the end of the block
    /// before the section.
    void layout(TurnWriter& writer, int position, QDeadlineTimer deadline);
    [[nodiscard]] bool isLaidOut() const { return !m_isDirty; }
    /// Forgets what the document shows; it was or will be cleared by the caller.
    void forgetLayout();
    void clear();
    [[nodiscard]] int length() const { return m_length; }  ///< Characters of the document.

    /// A part of the source and the characters that show it, from the start of the section on.
    struct Piece {
        int begin = 0, length = 0;
        QString source;
    };
    [[nodiscard]] QVector<Piece> pieces() const;

  private:
    void relink(TurnWriter& writer, int position);
    void layoutChunk(TurnWriter& writer, int position, qsizetype chunk);
    [[nodiscard]] QVector<RichBlock> parse(qsizetype chunk, MarkdownContext& context) const;

    TurnTone m_tone;
    MarkdownChunks m_chunks;  ///< Of people: never scanned, but one text.
    QString m_plain;
    bool m_isDirty = false;
    QVector<int> m_lengths;  ///< Of the chunks in the document.
    int m_length = 0;
    qsizetype m_numFinished = 0;                    ///< Chunks that are laid out and final.
    int m_finished = 0;                             ///< Their characters.
    MarkdownContext m_context;                      ///< Behind them.
    QVector<MarkdownContext> m_contexts;            ///< Before each of them.
    QHash<QString, QVector<qsizetype>> m_unlinked;  ///< Of them, by labels without an address.
    qsizetype m_numLinks = 0;                       ///< Addresses that they know of.
    QVector<RichBlock> m_shown;                     ///< Of the chunk after them.
    QVector<int> m_shownLengths;                    ///< By block.
};

}  // namespace hokku::desktop
