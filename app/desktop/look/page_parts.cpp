// SPDX-License-Identifier: Apache-2.0
#include "look/page_parts.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include "look/theme.h"

namespace hokku::desktop {

QScrollArea* makePageArea() {
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    return area;
}

QVBoxLayout* makeReadingColumn(QScrollArea& area, int topMargin) {
    auto* content = new QWidget;
    auto* row = new QHBoxLayout(content);
    row->setContentsMargins(3 * kGrid, topMargin, 3 * kGrid, 3 * kGrid);
    auto* inner = new QWidget;
    inner->setMaximumWidth(kReadingWidth);
    row->addStretch(1);
    row->addWidget(inner, 100);
    row->addStretch(1);
    auto* column = new QVBoxLayout(inner);
    column->setContentsMargins(0, 0, 0, 0);
    area.setWidget(content);
    return column;
}

QLabel* makeHeading(const QString& text) {
    auto* label = new QLabel(text);
    QFont font = Theme::instance().textFont();
    font.setPointSizeF(font.pointSizeF() * 1.25);
    font.setWeight(QFont::DemiBold);
    label->setFont(font);
    return label;
}

QLabel* makeRemark(const QString& text) {
    auto* label = new QLabel(text);
    label->setObjectName(QStringLiteral("faint"));
    label->setWordWrap(true);
    return label;
}

}  // namespace hokku::desktop
