// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_prompt.h"

#include <algorithm>

namespace hokku::desktop {
namespace {

/// What a person or a model goes on with, in the same turn.
void join(std::string& text, const std::string& more) {
    if (!text.empty() && !more.empty()) text += "\n\n";
    text += more;
}

}  // namespace

void ChatPrompt::add(const MessageRecord& message) {
    if (message.content.trimmed().isEmpty()) return;
    ChatMessage turn;
    turn.role = message.role.toStdString();
    turn.content = message.content.toStdString();
    turn.thought = message.thought.toStdString();
    if (!m_messages.empty() && m_messages.back().role == turn.role) {
        join(m_messages.back().content, turn.content);
        join(m_messages.back().thought, turn.thought);
        m_sources.last().append(message.id);
        return;
    }
    m_messages.push_back(std::move(turn));
    m_sources.append(QVector<MessageId>{message.id});
}

void ChatPrompt::leaveOut(const QVector<MessageId>& ids, const QString& lead) {
    std::vector<ChatMessage> messages;
    QVector<QVector<MessageId>> sources;
    for (size_t i = 0; i < m_messages.size(); ++i) {
        const QVector<MessageId>& source = m_sources[static_cast<qsizetype>(i)];
        const bool isOut = std::any_of(source.begin(), source.end(),
                                       [&](MessageId id) { return ids.contains(id); });
        if (isOut) continue;
        messages.push_back(std::move(m_messages[i]));
        sources.append(source);
    }
    m_messages = std::move(messages);
    m_sources = std::move(sources);
    const auto first = std::find_if(m_messages.begin(), m_messages.end(),
                                    [](const ChatMessage& turn) { return turn.role != "system"; });
    if (first != m_messages.end()) first->content.insert(0, lead.toStdString());
}

QVector<MessageId> ChatPrompt::sourcesOf(const DroppedTurns& dropped) const {
    QVector<MessageId> ids;
    for (const size_t index : dropped.indices)
        ids += m_sources.value(static_cast<qsizetype>(index));
    return ids;
}

QString ChatPrompt::leadOf(const DroppedTurns& dropped) const {
    const size_t next = dropped.indices.empty() ? m_messages.size() : dropped.indices.back() + 1;
    const size_t first = dropped.indices.empty() ? 0 : dropped.indices.front();
    if (next >= m_messages.size() || first >= dropped.remaining.size()) return {};
    const std::string& whole = dropped.remaining[first].content;
    const std::string& own = m_messages[next].content;
    if (whole.size() < own.size()) return {};
    return QString::fromStdString(whole.substr(0, whole.size() - own.size()));
}

ChatPrompt makeChatPrompt(const MessageTree& tree, MessageId leaf, const QString& systemPrompt,
                          quint32 contextTokens, const ReplyFacts& current) {
    ChatPrompt prompt;
    MessageRecord system;
    system.role = QStringLiteral("system");
    system.content = systemPrompt;
    prompt.add(system);
    QVector<ReplyFacts> records;
    for (const MessageId id : tree.pathTo(leaf)) {
        const MessageRecord message = tree.at(id);
        prompt.add(message);
        if (message.role == QLatin1String("assistant"))
            records.append(ReplyFacts::fromJson(message.statsJson));
    }
    records.append(current);
    // From the last one back: what is older than something that stays out stays out, too.
    QVector<MessageId> leftOut;
    QString lead;
    for (auto facts = records.crbegin(); facts != records.crend(); ++facts) {
        if (facts->dropped.isEmpty()) continue;
        if (leftOut.isEmpty() && contextTokens > facts->context) {
            prompt.m_hasTakenBack = true;
            continue;
        }
        if (leftOut.isEmpty()) lead = facts->lead;
        leftOut += facts->dropped;
    }
    if (!leftOut.isEmpty()) prompt.leaveOut(leftOut, lead);
    return prompt;
}

}  // namespace hokku::desktop
