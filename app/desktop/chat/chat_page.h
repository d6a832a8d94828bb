// SPDX-License-Identifier: Apache-2.0
// ChatPage: the conversation that is open, with the composer below it.
#pragma once

#include <QWidget>
#include <functional>

#include "chat/chat_session.h"
#include "chat/notice_bar.h"

class QTimer;

namespace hokku::desktop {

class Announcer;
class ChatView;
class Composer;
class PresetButton;

/// Threads: the UI thread. `session` must outlive it.
class ChatPage : public QWidget {
    Q_OBJECT

  public:
    explicit ChatPage(ChatSession& session, QWidget* parent = nullptr);

    using KeepDraft = std::function<void(const QString&)>;

    void open(ChatStore& store, ChatId id);
    /// A new chat with what was written for it before; `keep` is told what is written, as there is
    /// no chat yet that could hold it. Empty: it is not kept.
    void openNew(ChatStore& store, const QString& draft, const KeepDraft& keep);
    /// The draft and the place in the conversation: a moment after each change, and at the end.
    void save();
    void setReady(bool isReady, const QString& reason);
    /// The starter model says in one line that there are larger ones.
    void setIsStarterModel(bool isStarter);
    void showNotice(const NoticeWords& text, const QVector<NoticeAction>& actions = {});
    void focusComposer();
    void insertIntoComposer(const QString& text);
    [[nodiscard]] ChatView& view() { return *m_view; }
    [[nodiscard]] Composer& composer() { return *m_composer; }
    [[nodiscard]] PresetButton& presetButton() { return *m_presetButton; }
    void copyLastReply() const;

  signals:
    void filesDropped(const QStringList& paths);

  protected:
    void changeEvent(QEvent* event) override;

  private:
    void connectSession();
    void connectView();
    void beginEdit(MessageId id);
    void endEdit();
    void offerOverflow(const QString& whyNotGrown);
    void retranslate();
    void writeStatus();

    ChatSession& m_session;
    ChatView* m_view;
    Composer* m_composer;
    PresetButton* m_presetButton;
    NoticeBar* m_notice;
    Announcer* m_announcer;
    QTimer* m_saveTimer;
    QTimer* m_budgetTimer;  ///< Whatever changes at once, the tokens are counted once.
    bool m_isStarterModel = false;
    MessageId m_edited = 0;
    QString m_draftBeforeEdit;
    KeepDraft m_keepDraft;                   ///< Of a new chat.
    quint32 m_numRead = 0, m_numToRead = 0;  ///< Of the prompt; none to read: not known yet.
};

}  // namespace hokku::desktop
