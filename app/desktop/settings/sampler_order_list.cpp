// SPDX-License-Identifier: Apache-2.0
#include "settings/sampler_order_list.h"

#include <QKeyEvent>
#include <algorithm>

#include "look/theme.h"
#include "settings/sampling_fields.h"

namespace hokku::desktop {

SamplerOrderList::SamplerOrderList(QWidget* parent) : QListWidget(parent) {
    setDragDropMode(QAbstractItemView::InternalMove);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setTabKeyNavigation(false);
    connect(this, &QListWidget::itemChanged, this, &SamplerOrderList::edited);
}

void SamplerOrderList::setOrder(const std::vector<SamplerStep>& order) {
    const QSignalBlocker quiet(this);
    clear();
    for (const SamplerStep step : order) addStep(step, true);
    for (const SamplerStep step : SamplingOptions().order)
        if (std::find(order.begin(), order.end(), step) == order.end()) addStep(step, false);
    setCurrentRow(0);
    int height = 2 * frameWidth() + kGrid;
    for (int row = 0; row < count(); ++row) height += sizeHintForRow(row);
    setFixedHeight(height);
}

void SamplerOrderList::addStep(SamplerStep step, bool isOn) {
    auto* item = new QListWidgetItem(stepName(step), this);
    item->setData(Qt::UserRole, static_cast<int>(step));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsDragEnabled |
                   Qt::ItemIsUserCheckable);
    item->setCheckState(isOn ? Qt::Checked : Qt::Unchecked);
}

std::vector<SamplerStep> SamplerOrderList::order() const {
    std::vector<SamplerStep> steps;
    for (int row = 0; row < count(); ++row)
        if (item(row)->checkState() == Qt::Checked)
            steps.push_back(static_cast<SamplerStep>(item(row)->data(Qt::UserRole).toInt()));
    return steps;
}

void SamplerOrderList::keyPressEvent(QKeyEvent* event) {
    const bool isMove = (event->modifiers() & Qt::AltModifier) != 0;
    if (isMove && event->key() == Qt::Key_Up) return move(-1);
    if (isMove && event->key() == Qt::Key_Down) return move(1);
    QListWidget::keyPressEvent(event);
}

void SamplerOrderList::dropEvent(QDropEvent* event) {
    QListWidget::dropEvent(event);
    emit edited();
}

void SamplerOrderList::move(int direction) {
    const int row = currentRow(), target = row + direction;
    if (row < 0 || target < 0 || target >= count()) return;
    {
        const QSignalBlocker quiet(this);
        insertItem(target, takeItem(row));
    }
    setCurrentRow(target);
    emit edited();
}

}  // namespace hokku::desktop
