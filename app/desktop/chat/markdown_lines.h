// SPDX-License-Identifier: Apache-2.0
// What a line of Markdown begins with: the few questions that are asked before it is parsed.
#pragma once

#include <QString>

namespace hokku::desktop {

[[nodiscard]] bool isBlankChar(QChar c);
/// Index of the first character that is not white space; the size of a blank line.
[[nodiscard]] qsizetype firstInk(QStringView line);
/// Columns of the white space that a line begins with; tabs go to multiples of four.
[[nodiscard]] qsizetype indentOf(QStringView line);
/// Characters of a list marker with the spaces behind it; 0: `text` does not begin with one.
[[nodiscard]] qsizetype markerSize(QStringView text);
/// Backticks or tildes that `text` begins with; 0 for less than three.
[[nodiscard]] qsizetype fenceSize(QStringView text);

}  // namespace hokku::desktop
