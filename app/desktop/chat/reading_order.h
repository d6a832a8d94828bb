// SPDX-License-Identifier: Apache-2.0
// The order in which the transcript is read. Tables of scripts that run to the left begin at the
// right; as Qt has no such tables, their rows lie in the document from the last cell to the first.
#pragma once

#include <QTextDocument>

class QTextTable;

namespace hokku::desktop {

/// A mirrored table that a position of the document lies in; nullptr: in none.
[[nodiscard]] QTextTable* mirroredTableAt(QTextDocument& document, int position);

/// Each position of the document has one offset in the order of reading, and the other way round.
/// Outside of mirrored tables they are the same.
/// Needs  : a position, or an offset, of the document.
/// Cost   : grows with the columns of the table.
[[nodiscard]] int toReading(QTextDocument& document, int position);
[[nodiscard]] int fromReading(QTextDocument& document, int offset);

/// Where a caret at `position` comes to that would move to `wanted`: beyond the edge of a cell it
/// goes to the cell that is read next, or was read before.
[[nodiscard]] int caretTarget(QTextDocument& document, int position, int wanted);

}  // namespace hokku::desktop
