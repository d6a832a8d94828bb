// SPDX-License-Identifier: Apache-2.0
// Sidebar: the list of conversations with its search field, folders and menus.
#pragma once

#include <QWidget>
#include <functional>
#include <memory>

#include "conversations/chat_store.h"
#include "conversations/exchange.h"
#include "look/notice_words.h"

namespace hokku::desktop {

/// Renames, pins, moves to folders, deletes (with undo), exports and imports by itself; opening a
/// chat is the window's.
///
/// Threads: the UI thread. `store` must outlive it.
class Sidebar : public QWidget {
    Q_OBJECT

  public:
    explicit Sidebar(ChatStore& store, QWidget* parent = nullptr);
    ~Sidebar() override;

    /// Marks a chat as the one that is open; 0: none.
    void setCurrentChat(ChatId id);
    /// What a chat's preset tells the model: it goes into the files of chats without one of their
    /// own.
    void setPromptSource(const std::function<QString(const ChatRecord&)>& source);
    /// The content of a chat's file, with what its preset tells the model.
    [[nodiscard]] Result<QByteArray> exported(const ChatRecord& chat, ExportFormat format) const;
    void focusSearch();
    void refresh();

  signals:
    void newChatRequested(bool isTemporary);
    void chatSelected(hokku::desktop::ChatId id);
    void messageSelected(hokku::desktop::ChatId id, hokku::desktop::MessageId message);
    /// With the action that takes it back.
    void deleted(const QString& title, const std::function<void()>& undo);
    void noticed(const hokku::desktop::NoticeWords& words);

  protected:
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

  private:
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
