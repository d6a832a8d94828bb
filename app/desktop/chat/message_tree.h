// SPDX-License-Identifier: Apache-2.0
// MessageTree: the messages of a conversation in memory. The versions of a turn are siblings; a
// path from the root to a leaf is what is shown and sent.
#pragma once

#include <QHash>
#include <QVector>

#include "conversations/chat_store.h"

namespace hokku::desktop {

/// Needs: parents are older than their children (smaller ids), which the store sees to: there are
/// no cycles.
class MessageTree {
  public:
    void setMessages(const QVector<MessageRecord>& messages);
    void add(const MessageRecord& message);
    void remove(MessageId id);  ///< What follows it stays, but is on no path.
    [[nodiscard]] bool contains(MessageId id) const { return m_messages.contains(id); }
    /// An empty record where there is none.
    [[nodiscard]] MessageRecord at(MessageId id) const { return m_messages.value(id); }
    /// Needs: contains(id).
    [[nodiscard]] MessageRecord& operator[](MessageId id) { return m_messages[id]; }

    [[nodiscard]] QVector<MessageId> pathTo(MessageId leaf) const;
    /// The versions of a message, oldest first, itself included.
    [[nodiscard]] QVector<MessageId> versions(MessageId id) const;
    /// The end of the path through `id` that was written last.
    [[nodiscard]] MessageId deepestBelow(MessageId id) const;
    /// The last one of a person on the path; 0: none.
    [[nodiscard]] MessageId lastOfPerson(MessageId leaf) const;

  private:
    QHash<MessageId, MessageRecord> m_messages;
    QHash<MessageId, QVector<MessageId>> m_children;  ///< As they were written.
};

}  // namespace hokku::desktop
