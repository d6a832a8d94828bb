// SPDX-License-Identifier: Apache-2.0
// NoticeBar: what the person is told beside the conversation, with what can be done about it.
#pragma once

#include <QFrame>
#include <QVector>
#include <functional>

#include "look/notice_words.h"

class QBoxLayout;
class QLabel;
class QPushButton;

namespace hokku::desktop {

class FlowLayout;

struct NoticeAction {
    NoticeWords text;
    NoticeWords help;  ///< May be empty.
    std::function<void()> run;
};

/// One notice at a time; a later one takes its place. Hidden while there is none.
class NoticeBar : public QFrame {
    Q_OBJECT

  public:
    explicit NoticeBar(QWidget* parent);
    void show(const NoticeWords& text, const QVector<NoticeAction>& actions = {});
    void dismiss();

  signals:
    void dismissed();      ///< By the person.
    void focusReleased();  ///< It was on one of the buttons, which go.

  protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void retranslate();
    void arrange();

    QLabel* m_text;
    QBoxLayout* m_layout;
    FlowLayout* m_buttons;
    QPushButton* m_close;
    NoticeWords m_words;
    QVector<NoticeAction> m_actions;
    QVector<QPushButton*> m_actionButtons;
};

}  // namespace hokku::desktop
