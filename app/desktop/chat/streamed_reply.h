// SPDX-License-Identifier: Apache-2.0
// StreamedReply: the reply that is being written: its text, its thought and how long that took,
// and what became of the context meanwhile.
#pragma once

#include <QElapsedTimer>

#include "chat/chat_prompt.h"
#include "chat/reply_facts.h"

namespace hokku::desktop {

class StreamedReply {
  public:
    /// `record` may have text that the reply goes on with. `prompt`: what the model was given.
    StreamedReply(const MessageRecord& record, const ChatPrompt& prompt);

    /// Whether the thought has ended by it.
    bool addText(const QString& text);
    void addThought(const QString& thought);
    /// What was added as text is the thought.
    void turnTextToThought();
    void setDropped(const DroppedTurns& dropped, quint32 contextTokens);

    [[nodiscard]] MessageId id() const { return m_record.id; }
    [[nodiscard]] ReplyFacts& facts() { return m_facts; }
    [[nodiscard]] const ReplyFacts& facts() const { return m_facts; }
    /// As it stands.
    [[nodiscard]] MessageRecord record() const;

    /// What markStored() has not been called for.
    [[nodiscard]] QString unstoredText() const { return m_record.content.mid(m_numStored); }
    [[nodiscard]] QString unstoredThought() const {
        return m_record.thought.mid(m_numThoughtStored);
    }
    void markStored();
    /// All that came since it began, or began to go on.
    [[nodiscard]] QString addedText() const {
        return m_record.thought.mid(m_thoughtAtStart) + m_record.content.mid(m_contentAtStart);
    }

  private:
    MessageRecord m_record;
    ReplyFacts m_facts;
    ChatPrompt m_prompt;
    QVector<MessageId> m_droppedBefore;
    QElapsedTimer m_clock;       ///< Since its first character.
    qint64 m_thoughtBefore = 0;  ///< How long the thought took that it goes on with.
    bool m_isThinking = false;
    qsizetype m_numStored, m_numThoughtStored;
    qsizetype m_contentAtStart, m_thoughtAtStart;
};

}  // namespace hokku::desktop
