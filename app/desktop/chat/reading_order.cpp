// SPDX-License-Identifier: Apache-2.0
#include "chat/reading_order.h"

#include <QTextCursor>
#include <QTextTable>

#include "chat/turn_formats.h"

namespace hokku::desktop {
namespace {

/// With the character behind it, which ends it.
int lengthOf(const QTextTableCell& cell) {
    return cell.lastPosition() - cell.firstPosition() + 1;
}

}  // namespace

QTextTable* mirroredTableAt(QTextDocument& document, int position) {
    QTextCursor cursor(&document);
    cursor.setPosition(position);
    QTextTable* table = cursor.currentTable();
    return table != nullptr && table->format().boolProperty(kTableMirrored) ? table : nullptr;
}

int toReading(QTextDocument& document, int position) {
    const QTextTable* table = mirroredTableAt(document, position);
    if (table == nullptr) return position;
    const QTextTableCell own = table->cellAt(position);
    int offset = table->cellAt(own.row(), 0).firstPosition();
    for (int column = table->columns() - 1; column > own.column(); --column)
        offset += lengthOf(table->cellAt(own.row(), column));
    return offset + position - own.firstPosition();
}

int fromReading(QTextDocument& document, int offset) {
    const QTextTable* table = mirroredTableAt(document, offset);
    if (table == nullptr) return offset;
    const int row = table->cellAt(offset).row();  // Rows lie in the same place in both orders.
    int rest = offset - table->cellAt(row, 0).firstPosition();
    int column = table->columns() - 1;
    while (column > 0 && rest >= lengthOf(table->cellAt(row, column)))
        rest -= lengthOf(table->cellAt(row, column--));
    return table->cellAt(row, column).firstPosition() + rest;
}

int caretTarget(QTextDocument& document, int position, int wanted) {
    QTextTable* from = mirroredTableAt(document, position);
    QTextTable* to = mirroredTableAt(document, wanted);
    if (from == nullptr && to == nullptr) return wanted;
    if (from == to && from->cellAt(position) == to->cellAt(wanted)) return wanted;
    const int step = wanted > position ? 1 : -1;
    const int last = document.characterCount() - 1;
    return fromReading(document, qBound(0, toReading(document, position) + step, last));
}

}  // namespace hokku::desktop
