// SPDX-License-Identifier: Apache-2.0
#include "look/elided_label.h"

#include <QHelpEvent>
#include <QStyle>
#include <QStyleOption>
#include <QStylePainter>
#include <QToolTip>

namespace hokku::desktop {
namespace {

/// So many letters stay, however narrow it gets.
constexpr int kLeastLetters = 3;

}  // namespace

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
    setTextFormat(Qt::PlainText);
}

QSize ElidedLabel::minimumSizeHint() const {
    int least = kLeastLetters * fontMetrics().averageCharWidth();
    if (!m_shortText.isEmpty()) least = fontMetrics().horizontalAdvance(m_shortText) + 1;
    return {text().isEmpty() ? 0 : least, QLabel::minimumSizeHint().height()};
}

void ElidedLabel::setShortText(const QString& text) {
    m_shortText = text;
    updateGeometry();
}

bool ElidedLabel::event(QEvent* event) {
    const bool isCut = fontMetrics().horizontalAdvance(text()) > contentsRect().width();
    if (event->type() == QEvent::ToolTip && isCut && toolTip().isEmpty()) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }
    return QLabel::event(event);
}

void ElidedLabel::paintEvent(QPaintEvent*) {
    QStylePainter painter(this);
    QStyleOption option;
    option.initFrom(this);
    const int room = contentsRect().width();
    const bool isCut = fontMetrics().horizontalAdvance(text()) > room;
    const QString shown = fontMetrics().elidedText(
        isCut && !m_shortText.isEmpty() ? m_shortText : text(), Qt::ElideRight, room);
    painter.drawItemText(contentsRect(), static_cast<int>(alignment() | Qt::TextSingleLine),
                         option.palette, isEnabled(), shown, QPalette::WindowText);
}

}  // namespace hokku::desktop
