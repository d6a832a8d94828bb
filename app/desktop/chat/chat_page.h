// SPDX-License-Identifier: Apache-2.0
// ChatPage: the conversation that is open, with the composer below it.
#pragma once

#include <QWidget>

#include "chat/chat_session.h"

class QFrame;
class QLabel;
class QPushButton;
class QTimer;

namespace hokku::desktop {

class ChatView;
class Composer;

/// Threads: the UI thread. `session` must outlive it.
class ChatPage : public QWidget {
    Q_OBJECT

  public:
    explicit ChatPage(ChatSession& session, QWidget* parent = nullptr);

    void open(ChatStore& store, ChatId id);
    void setReady(bool isReady, const QString& reason);
    /// Words that are asked for again when the language changes.
    using Words = std::function<QString()>;
    void showNotice(const Words& text, const Words& action = {},
                    const std::function<void()>& run = {});
    void showNotice(const QString& text);
    void focusComposer();
    void setComposerText(const QString& text);
    [[nodiscard]] ChatView& view() { return *m_view; }
    [[nodiscard]] Composer& composer() { return *m_composer; }
    void copyLastReply() const;
    void applyReadingWidth();

  signals:
    void filesDropped(const QStringList& paths);

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void connectSession();
    void connectView();
    void beginEdit(MessageId id);
    void endEdit();
    void saveDraft();
    void offerOverflow();
    void retranslate();
    void writeNotice();
    void writeStatus();

    ChatSession& m_session;
    ChatView* m_view;
    Composer* m_composer;
    QFrame* m_notice;
    QLabel* m_noticeText;
    QPushButton* m_noticeAction;
    QPushButton* m_noticeClose;
    Words m_noticeWords, m_actionWords;
    std::function<void()> m_noticeRun;
    QTimer* m_draftTimer;
    QTimer* m_budgetTimer;  ///< Whatever changes at once, the tokens are counted once.
    MessageId m_edited = 0;
    QString m_draftBeforeEdit;
    quint32 m_numRead = 0, m_numToRead = 0;  ///< Of the prompt; none to read: not known yet.
};

}  // namespace hokku::desktop
