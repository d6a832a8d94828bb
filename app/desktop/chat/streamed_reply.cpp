// SPDX-License-Identifier: Apache-2.0
#include "chat/streamed_reply.h"

#include <utility>

namespace hokku::desktop {

StreamedReply::StreamedReply(const MessageRecord& record, const ChatPrompt& prompt)
    : m_record(record),
      m_prompt(prompt),
      m_numStored(record.content.size()),
      m_numThoughtStored(record.thought.size()),
      m_contentAtStart(record.content.size()),
      m_thoughtAtStart(record.thought.size()) {
    const ReplyFacts begun = ReplyFacts::fromJson(record.statsJson);
    m_facts.thoughtMs = begun.thoughtMs;
    if (record.content.isEmpty()) m_thoughtBefore = begun.thoughtMs;
    m_facts.dropped = m_droppedBefore = begun.dropped;
    m_facts.summary = begun.summary;
    m_facts.lead = begun.lead;
    m_facts.context = begun.context;
}

bool StreamedReply::addText(const QString& text) {
    if (!m_clock.isValid()) m_clock.start();
    m_record.content += text;
    if (!std::exchange(m_isThinking, false)) return false;
    m_facts.thoughtMs = m_thoughtBefore + m_clock.elapsed();
    return true;
}

void StreamedReply::addThought(const QString& thought) {
    if (!m_clock.isValid()) m_clock.start();
    m_record.thought += thought;
    m_isThinking = true;
}

void StreamedReply::turnTextToThought() {
    m_record.thought += std::exchange(m_record.content, {});
    m_facts.thoughtMs = m_clock.isValid() ? m_clock.elapsed() : 0;
    m_numStored = 0;
    m_numThoughtStored = 0;
}

void StreamedReply::setDropped(const DroppedTurns& dropped, quint32 contextTokens) {
    m_facts.dropped = m_droppedBefore + m_prompt.sourcesOf(dropped);
    m_facts.summary = QString::fromStdString(dropped.summary);
    m_facts.lead = m_prompt.leadOf(dropped);
    m_facts.context = contextTokens;
}

MessageRecord StreamedReply::record() const {
    MessageRecord record = m_record;
    ReplyFacts facts = m_facts;
    if (m_isThinking) facts.thoughtMs = m_thoughtBefore + m_clock.elapsed();
    record.statsJson = facts.toJson();
    return record;
}

void StreamedReply::markStored() {
    m_numStored = m_record.content.size();
    m_numThoughtStored = m_record.thought.size();
}

}  // namespace hokku::desktop
