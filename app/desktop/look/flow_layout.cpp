// SPDX-License-Identifier: Apache-2.0
#include "look/flow_layout.h"

#include <QStyle>
#include <QWidget>

namespace hokku::desktop {

FlowLayout::FlowLayout(int gap) : m_gap(gap) {
    setContentsMargins(0, 0, 0, 0);
}

FlowLayout::~FlowLayout() {
    qDeleteAll(m_items);
}

void FlowLayout::addItem(QLayoutItem* item) {
    m_items.append(item);
}

void FlowLayout::insertBeforeLast(QWidget* widget) {
    addWidget(widget);
    if (m_items.size() > 1) m_items.swapItemsAt(m_items.size() - 1, m_items.size() - 2);
    invalidate();
}

int FlowLayout::count() const {
    return static_cast<int>(m_items.size());
}

QLayoutItem* FlowLayout::itemAt(int index) const {
    return m_items.value(index);
}

QLayoutItem* FlowLayout::takeAt(int index) {
    return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

/// All in one row.
QSize FlowLayout::sizeHint() const {
    QSize size;
    for (const QLayoutItem* item : m_items) {
        if (item->isEmpty()) continue;
        const QSize hint = item->sizeHint();
        size = {size.width() + hint.width() + (size.width() > 0 ? m_gap : 0),
                qMax(size.height(), hint.height())};
    }
    return size;
}

QSize FlowLayout::minimumSize() const {
    QSize size;
    for (const QLayoutItem* item : m_items)
        if (!item->isEmpty()) size = size.expandedTo(item->sizeHint());
    return size;
}

int FlowLayout::heightForWidth(int width) const {
    return place({0, 0, width, 0}, true);
}

void FlowLayout::setGeometry(const QRect& rect) {
    QLayout::setGeometry(rect);
    place(rect, false);
}

int FlowLayout::place(const QRect& rect, bool isDry) const {
    const Qt::LayoutDirection direction =
        parentWidget() != nullptr ? parentWidget()->layoutDirection() : Qt::LeftToRight;
    int x = 0, y = 0, rowHeight = 0;
    for (QLayoutItem* item : m_items) {
        if (item->isEmpty()) continue;
        const QSize size = item->sizeHint();
        if (x > 0 && x + size.width() > rect.width()) {
            x = 0;
            y += rowHeight + m_gap;
            rowHeight = 0;
        }
        if (!isDry)
            item->setGeometry(
                QStyle::visualRect(direction, rect, {rect.topLeft() + QPoint(x, y), size}));
        x += size.width() + m_gap;
        rowHeight = qMax(rowHeight, size.height());
    }
    return y + rowHeight;
}

}  // namespace hokku::desktop
