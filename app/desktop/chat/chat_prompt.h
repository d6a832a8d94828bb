// SPDX-License-Identifier: Apache-2.0
// ChatPrompt: what of a conversation is sent to the model, and which stored messages each part of
// it comes from.
#pragma once

#include <QVector>
#include <vector>

#include "chat/message_tree.h"
#include "chat/reply_facts.h"
#include "hokku/engine.h"

namespace hokku::desktop {

/// Templates insist on turns that alternate; what stops and edits leave is mended: a turn without
/// text is left out, turns of the same role become one.
class ChatPrompt {
  public:
    void add(const MessageRecord& message);
    /// Leaves messages out; `lead` stands before the first one that stays.
    void leaveOut(const QVector<MessageId>& ids, const QString& lead);
    /// The messages in the order of the request. Their indices are those of DroppedTurns.
    [[nodiscard]] const std::vector<ChatMessage>& messages() const { return m_messages; }
    [[nodiscard]] QVector<MessageId> sourcesOf(const DroppedTurns& dropped) const;
    /// The text that the engine has put before the first message that stays.
    [[nodiscard]] QString leadOf(const DroppedTurns& dropped) const;

    /// Whether it has turns that were left out of a shorter context.
    [[nodiscard]] bool hasTakenBack() const { return m_hasTakenBack; }

  private:
    friend ChatPrompt makeChatPrompt(const MessageTree&, MessageId, const QString&, quint32,
                                     const ReplyFacts&);
    bool m_hasTakenBack = false;
    std::vector<ChatMessage> m_messages;
    QVector<QVector<MessageId>> m_sources;  ///< Of each message.
};

/// The prompt of the path to `leaf`. Replies have left turns out of the context; they stay out
/// unless the context, of `contextTokens`, is longer by now (0: in any case). `current`: of a reply
/// that goes on.
ChatPrompt makeChatPrompt(const MessageTree& tree, MessageId leaf, const QString& systemPrompt,
                          quint32 contextTokens, const ReplyFacts& current = {});

}  // namespace hokku::desktop
