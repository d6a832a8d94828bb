// SPDX-License-Identifier: Apache-2.0
#include "chat/turn_actions.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>

#include "chat/quiet_button.h"
#include "chat/turn_formats.h"

namespace hokku::desktop {

TurnActions::TurnActions(QWidget* parent) : QWidget(parent), m_version(new QLabel(this)) {
    m_version->setObjectName(QStringLiteral("faint"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    const char* const icons[] = {"previous",   "next",     "copy", "edit",
                                 "regenerate", "continue", "info", "delete"};
    for (int i = 0; i < 8; ++i) {
        auto* button = new QuietButton(QString::fromLatin1(icons[i]), this);
        button->setObjectName(QStringLiteral("turn-") + QLatin1String(icons[i]));
        button->installEventFilter(this);
        connect(button, &QToolButton::clicked, this,
                [this, i] { emit triggered(m_id, static_cast<TurnAction>(i)); });
        m_buttons.append(button);
        layout->addWidget(button);
        if (i == 0) layout->addWidget(m_version);
    }
    setFixedHeight(kActionsHeight);
    setCursor(Qt::ArrowCursor);
}

QuietButton* TurnActions::button(TurnAction action) const {
    return m_buttons[static_cast<int>(action)];
}

QVector<QuietButton*> TurnActions::visibleButtons() const {
    QVector<QuietButton*> shown;
    for (QuietButton* button : m_buttons)
        if (!button->isHidden()) shown.append(button);
    return shown;
}

void TurnActions::setTurn(const Turn& turn) {
    m_id = turn.id;
    const bool isReply = turn.role == QLatin1String("assistant");
    const bool isPerson = turn.role == QLatin1String("user");
    const bool isIdle = turn.state != MessageState::streaming;
    const auto show = [this](TurnAction action, bool isShown) {
        button(action)->setVisible(isShown);
    };
    const bool hasVersions = turn.numVersions > 1 && isIdle;
    show(TurnAction::previous, hasVersions);
    show(TurnAction::next, hasVersions);
    m_version->setVisible(hasVersions);
    show(TurnAction::copy, isIdle);
    show(TurnAction::edit, isIdle && (isReply || isPerson));
    show(TurnAction::regenerate, isIdle && isReply);
    show(TurnAction::continueReply,
         isReply && (turn.state == MessageState::stopped || (isIdle && turn.isCut)));
    show(TurnAction::details, isIdle && isReply && !turn.details.isEmpty());
    show(TurnAction::remove, isIdle && (isReply || isPerson));
    button(TurnAction::previous)->setEnabled(turn.version > 1);
    button(TurnAction::next)->setEnabled(turn.version < turn.numVersions);
    nameButtons(isReply, turn);
    layout()->activate();
    resize(sizeHint().width(), height());
    updateAwake();
}

void TurnActions::nameButtons(bool isReply, const Turn& turn) {
    const auto name = [this](TurnAction action, const QString& text) {
        button(action)->setName(text);
    };
    m_version->setText(tr("%1 / %2").arg(turn.version).arg(turn.numVersions));
    m_version->setAccessibleName(tr("Version %1 of %2").arg(turn.version).arg(turn.numVersions));
    name(TurnAction::previous, tr("Previous version"));
    name(TurnAction::next, tr("Next version"));
    name(TurnAction::copy, isReply ? tr("Copy this reply") : tr("Copy this message"));
    name(TurnAction::edit, isReply ? tr("Edit this reply") : tr("Edit this message"));
    name(TurnAction::regenerate, tr("Write this reply anew"));
    name(TurnAction::continueReply, tr("Go on with this reply"));
    name(TurnAction::details, tr("Details of this reply"));
    name(TurnAction::remove, isReply ? tr("Delete this reply") : tr("Delete this message"));
}

void TurnActions::setAwake(bool isAwake) {
    if (m_isAwake == isAwake) return;
    m_isAwake = isAwake;
    updateAwake();
}

void TurnActions::updateAwake() {
    bool isAwake = m_isAwake;
    for (const QuietButton* button : m_buttons) isAwake = isAwake || button->hasFocus();
    for (QuietButton* button : m_buttons) button->setAwake(isAwake);
    // Where there are versions, that is always told.
    button(TurnAction::previous)->setAwake(true);
    button(TurnAction::next)->setAwake(true);
}

bool TurnActions::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) updateAwake();
    return QWidget::eventFilter(watched, event);
}

}  // namespace hokku::desktop
