// SPDX-License-Identifier: Apache-2.0
#include "conversations/conversation_model.h"

#include <algorithm>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// Internal ids: 0 for the top level, folder index + 1 for chats within a folder.
constexpr quintptr kTop = 0;

}  // namespace

ConversationModel::ConversationModel(QObject* parent) : QAbstractItemModel(parent) {
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        emit layoutAboutToBeChanged();
        emit layoutChanged();
    });
}

void ConversationModel::setChats(const QVector<ChatRecord>& chats) {
    beginResetModel();
    m_folders.clear();
    m_chats.clear();
    for (const ChatRecord& chat : chats) {
        if (chat.folder.isEmpty()) {
            m_chats.append(chat);
            continue;
        }
        auto folder = std::find_if(m_folders.begin(), m_folders.end(),
                                   [&](const Folder& f) { return f.name == chat.folder; });
        if (folder == m_folders.end()) {
            m_folders.append({chat.folder, {}});
            folder = m_folders.end() - 1;
        }
        folder->chats.append(chat);
    }
    std::sort(m_folders.begin(), m_folders.end(), [](const Folder& a, const Folder& b) {
        return a.name.localeAwareCompare(b.name) < 0;
    });
    const auto firstOther = std::find_if(m_chats.cbegin(), m_chats.cend(),
                                         [](const ChatRecord& chat) { return !chat.isPinned; });
    m_numPinned = static_cast<int>(std::distance(m_chats.cbegin(), firstOther));
    endResetModel();
}

int ConversationModel::folderAt(int row) const {
    const int folder = row - m_numPinned;
    return folder >= 0 && folder < m_folders.size() ? folder : -1;
}

QStringList ConversationModel::folders() const {
    QStringList names;
    for (const Folder& folder : m_folders) names.append(folder.name);
    return names;
}

QModelIndex ConversationModel::indexOf(ChatId id) const {
    for (int i = 0; i < m_folders.size(); ++i) {
        const QVector<ChatRecord>& chats = m_folders[i].chats;
        for (int row = 0; row < chats.size(); ++row)
            if (chats[row].id == id) return createIndex(row, 0, static_cast<quintptr>(i) + 1);
    }
    for (int row = 0; row < m_chats.size(); ++row)
        if (m_chats[row].id == id)
            return createIndex(row < m_numPinned ? row : static_cast<int>(m_folders.size()) + row,
                               0, kTop);
    return {};
}

const ChatRecord* ConversationModel::chatAt(const QModelIndex& index) const {
    if (!index.isValid()) return nullptr;
    if (index.internalId() != kTop)
        return &m_folders[static_cast<qsizetype>(index.internalId()) - 1].chats[index.row()];
    if (folderAt(index.row()) >= 0) return nullptr;
    return &m_chats[index.row() < m_numPinned ? index.row() : index.row() - m_folders.size()];
}

QModelIndex ConversationModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    return createIndex(row, column,
                       parent.isValid() ? static_cast<quintptr>(folderAt(parent.row())) + 1 : kTop);
}

QModelIndex ConversationModel::parent(const QModelIndex& child) const {
    if (!child.isValid() || child.internalId() == kTop) return {};
    return createIndex(m_numPinned + static_cast<int>(child.internalId()) - 1, 0, kTop);
}

int ConversationModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return static_cast<int>(m_folders.size() + m_chats.size());
    const int folder =
        parent.internalId() == kTop && parent.column() == 0 ? folderAt(parent.row()) : -1;
    return folder >= 0 ? static_cast<int>(m_folders[folder].chats.size()) : 0;
}

int ConversationModel::columnCount(const QModelIndex&) const {
    return 1;
}

QVariant ConversationModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const ChatRecord* chat = chatAt(index);
    if (chat == nullptr) {
        const QString& name = m_folders[folderAt(index.row())].name;
        if (role == Qt::DisplayRole || role == FolderRole) return name;
        if (role == Qt::DecorationRole) return Theme::instance().icon(QStringLiteral("folder"));
        if (role == Qt::AccessibleTextRole) return tr("Folder %1").arg(name);
        return {};
    }
    const QString title = chat->displayTitle().isEmpty() ? tr("New chat") : chat->displayTitle();
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
        case Qt::ToolTipRole:
            return title;
        case Qt::DecorationRole:
            return chat->isPinned ? QVariant(Theme::instance().icon(QStringLiteral("pin")))
                                  : QVariant();
        case Qt::AccessibleTextRole:
            return chat->isPinned ? tr("%1, pinned").arg(title) : title;
        case ChatIdRole:
            return chat->id;
        case FolderRole:
            return chat->folder;
        default:
            return {};
    }
}

Qt::ItemFlags ConversationModel::flags(const QModelIndex& index) const {
    if (!index.isValid()) return Qt::NoItemFlags;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable;
}

}  // namespace hokku::desktop
