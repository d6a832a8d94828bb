// SPDX-License-Identifier: Apache-2.0
#include "chat/preset_button.h"

#include <QActionGroup>
#include <QEvent>
#include <QMenu>
#include <QScreen>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

constexpr int kLongestName = 160;  ///< Pixels.

}  // namespace

PresetButton::PresetButton(QWidget* parent) : QToolButton(parent) {
    setObjectName(QStringLiteral("presetButton"));
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setIcon(Theme::instance().icon(QStringLiteral("preset")));
    setIconSize({16, 16});
    setPopupMode(QToolButton::InstantPopup);
    setMenu(new QMenu(this));
    menu()->setToolTipsVisible(true);
    menu()->installEventFilter(this);
    retranslate();
}

void PresetButton::setChoices(const QVector<Choice>& choices, const QString& current) {
    m_choices = choices;
    m_current = current;
    retranslate();
}

void PresetButton::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) retranslate();
    QToolButton::changeEvent(event);
}

bool PresetButton::eventFilter(QObject* watched, QEvent* event) {
    if (watched == menu() && event->type() == QEvent::Show) placeMenu();
    return QToolButton::eventFilter(watched, event);
}

/// Above the whole box that the button lies in, not over the message that is being written; where
/// there is no room, as Qt has it.
void PresetButton::placeMenu() {
    const QWidget& box = *parentWidget();
    const int top = box.mapToGlobal(QPoint()).y() - kGrid / 2 - menu()->height();
    if (top < screen()->availableGeometry().top()) return;
    menu()->move(menu()->x(), top);
}

void PresetButton::retranslate() {
    menu()->clear();
    auto* group = new QActionGroup(menu());
    QString name;
    for (const Choice& choice : m_choices) {
        // An ampersand would be read as a mnemonic.
        QString text = choice.name;
        QAction* action = menu()->addAction(text.replace(QLatin1Char('&'), QLatin1String("&&")));
        action->setCheckable(true);
        action->setChecked(choice.key == m_current);
        action->setToolTip(choice.help);
        group->addAction(action);
        if (choice.key == m_current) name = choice.name;
        connect(action, &QAction::triggered, this, [this, key = choice.key] { emit chosen(key); });
    }
    menu()->addSeparator();
    connect(menu()->addAction(tr("Edit presets…")), &QAction::triggered, this,
            &PresetButton::editWanted);
    setText(fontMetrics().elidedText(name, Qt::ElideRight, kLongestName));
    setAccessibleName(tr("Preset: %1").arg(name));
    setToolTip(tr("How the replies of this conversation are written"));
}

}  // namespace hokku::desktop
