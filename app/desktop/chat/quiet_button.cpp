// SPDX-License-Identifier: Apache-2.0
#include "chat/quiet_button.h"

#include <QStyleOptionToolButton>
#include <QStylePainter>

#include "chat/turn_formats.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {
constexpr double kRestOpacity = 0.65;
}

QuietButton::QuietButton(const QString& icon, QWidget* parent) : QToolButton(parent) {
    setIcon(Theme::instance().icon(icon));
    setIconSize({16, 16});
    setFixedSize(kActionsHeight, kActionsHeight);
    setCursor(Qt::ArrowCursor);
    setFocusPolicy(Qt::TabFocus);
}

void QuietButton::setAwake(bool isAwake) {
    if (m_isAwake == isAwake) return;
    m_isAwake = isAwake;
    update();
}

void QuietButton::setName(const QString& name) {
    setAccessibleName(name);
    setToolTip(name);
}

void QuietButton::paintEvent(QPaintEvent*) {
    if (!m_isAwake && !hasFocus()) return;
    QStyleOptionToolButton option;
    initStyleOption(&option);
    QStylePainter painter(this);
    painter.setOpacity(underMouse() || hasFocus() ? 1.0 : kRestOpacity);
    painter.drawComplexControl(QStyle::CC_ToolButton, option);
}

}  // namespace hokku::desktop
