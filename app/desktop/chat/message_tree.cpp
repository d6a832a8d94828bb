// SPDX-License-Identifier: Apache-2.0
#include "chat/message_tree.h"

namespace hokku::desktop {

void MessageTree::setMessages(const QVector<MessageRecord>& messages) {
    m_messages.clear();
    m_children.clear();
    for (const MessageRecord& message : messages) add(message);
}

void MessageTree::add(const MessageRecord& message) {
    m_messages.insert(message.id, message);
    m_children[message.parent].append(message.id);
}

void MessageTree::remove(MessageId id) {
    m_children[at(id).parent].removeAll(id);
    m_messages.remove(id);
}

QVector<MessageId> MessageTree::pathTo(MessageId leaf) const {
    QVector<MessageId> path;
    for (MessageId id = leaf; m_messages.contains(id); id = m_messages[id].parent) path.prepend(id);
    return path;
}

QVector<MessageId> MessageTree::versions(MessageId id) const {
    QVector<MessageId> found;
    const MessageRecord message = at(id);
    for (const MessageId other : m_children.value(message.parent))
        if (m_messages.constFind(other)->role == message.role) found.append(other);
    return found;
}

MessageId MessageTree::deepestBelow(MessageId id) const {
    for (;;) {
        const auto children = m_children.constFind(id);
        if (children == m_children.constEnd() || children->isEmpty()) break;
        id = children->last();
    }
    return id;
}

MessageId MessageTree::lastOfPerson(MessageId leaf) const {
    const QVector<MessageId> path = pathTo(leaf);
    for (auto id = path.crbegin(); id != path.crend(); ++id)
        if (m_messages[*id].role == QLatin1String("user")) return *id;
    return 0;
}

}  // namespace hokku::desktop
