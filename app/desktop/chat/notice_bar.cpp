// SPDX-License-Identifier: Apache-2.0
#include "chat/notice_bar.h"

#include <QApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "look/flow_layout.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// Beside buttons the text is at least so wide.
constexpr int kLeastText = 280;

}  // namespace

NoticeBar::NoticeBar(QWidget* parent)
    : QFrame(parent),
      m_text(new QLabel(this)),
      m_layout(new QHBoxLayout(this)),
      m_buttons(new FlowLayout(kGrid)),
      m_close(new QPushButton(this)) {
    setObjectName(QStringLiteral("notice"));
    m_text->setObjectName(QStringLiteral("noticeText"));
    m_text->setWordWrap(true);
    // It has what the buttons leave.
    m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_text->setTextFormat(Qt::PlainText);
    m_close->setObjectName(QStringLiteral("noticeClose"));
    m_layout->setContentsMargins(2 * kGrid, kGrid, kGrid, kGrid);
    m_layout->addWidget(m_text, 1);
    m_layout->addLayout(m_buttons);
    m_buttons->addWidget(m_close);
    connect(m_close, &QPushButton::clicked, this, [this] {
        dismiss();
        emit dismissed();
    });
    retranslate();
    hide();
}

void NoticeBar::show(const NoticeWords& text, const QVector<NoticeAction>& actions) {
    m_words = text;
    m_actions = actions;
    // One of them may be what called.
    for (QPushButton* button : std::exchange(m_actionButtons, {})) {
        button->hide();
        button->deleteLater();
    }
    for (const NoticeAction& action : actions) {
        auto* button = new QPushButton(this);
        m_buttons->insertBeforeLast(button);
        connect(button, &QPushButton::clicked, this, [this, run = action.run] {
            dismiss();
            run();
        });
        m_actionButtons.append(button);
    }
    retranslate();
    QFrame::show();
    arrange();
}

void NoticeBar::dismiss() {
    // The focus goes back to where one writes, not to whatever comes next.
    const bool hasFocusWithin = isAncestorOf(QApplication::focusWidget());
    if (hasFocusWithin) emit focusReleased();
    hide();
}

/// Several choices stand below the text, also one where it is narrow.
void NoticeBar::arrange() {
    const bool isBelow =
        m_actions.size() > 1 || width() < m_buttons->sizeHint().width() + kLeastText;
    m_layout->setDirection(isBelow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void NoticeBar::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    arrange();
}

void NoticeBar::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) retranslate();
    QFrame::changeEvent(event);
}

void NoticeBar::retranslate() {
    if (m_words) m_text->setText(m_words());
    for (qsizetype i = 0; i < m_actions.size(); ++i) {
        const QString help = m_actions[i].help ? m_actions[i].help() : QString();
        m_actionButtons[i]->setText(m_actions[i].text());
        m_actionButtons[i]->setToolTip(help);
        m_actionButtons[i]->setAccessibleDescription(help);
    }
    m_close->setText(tr("Dismiss"));
    arrange();
}

}  // namespace hokku::desktop
