// SPDX-License-Identifier: Apache-2.0
// ConversationModel: the conversations as a tree for views: folders first, then the chats that are
// in none; within each, pinned ones first.
#pragma once

#include <QAbstractItemModel>
#include <QIcon>
#include <QVector>

#include "conversations/chat_store.h"

namespace hokku::desktop {

/// Threads: the UI thread.
class ConversationModel : public QAbstractItemModel {
    Q_OBJECT

  public:
    enum Role { ChatIdRole = Qt::UserRole + 1, FolderRole };

    explicit ConversationModel(QObject* parent = nullptr);

    /// Replaces what is shown: pinned chats, folders, the other chats. Expects the order of
    /// ChatStore::chats().
    void setChats(const QVector<ChatRecord>& chats);
    [[nodiscard]] QModelIndex indexOf(ChatId id) const;
    [[nodiscard]] const ChatRecord* chatAt(const QModelIndex& index) const;
    [[nodiscard]] QStringList folders() const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

  private:
    struct Folder {
        QString name;
        QVector<ChatRecord> chats;
    };
    /// Of the folder in a row of the top level; -1: a chat.
    [[nodiscard]] int folderAt(int row) const;

    QVector<Folder> m_folders;
    QVector<ChatRecord>
        m_chats;  ///< In no folder; the pinned ones, which come first, stand above the folders.
    int m_numPinned = 0;
};

}  // namespace hokku::desktop
