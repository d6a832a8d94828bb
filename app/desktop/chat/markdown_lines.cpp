// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_lines.h"

namespace hokku::desktop {

bool isBlankChar(QChar c) {
    return c == QLatin1Char(' ') || c == QLatin1Char('\t');
}

qsizetype firstInk(QStringView line) {
    qsizetype i = 0;
    while (i < line.size() && isBlankChar(line[i])) ++i;
    return i;
}

qsizetype indentOf(QStringView line) {
    qsizetype columns = 0;
    for (const QChar c : line) {
        if (c == QLatin1Char(' ')) {
            ++columns;
        } else if (c == QLatin1Char('\t')) {
            columns += 4 - columns % 4;
        } else {
            break;
        }
    }
    return columns;
}

qsizetype markerSize(QStringView text) {
    qsizetype size = 0;
    if (text.isEmpty()) return 0;
    if (QStringLiteral("-*+").contains(text[0])) {
        size = 1;
    } else {
        while (size < text.size() && size < 9 && text[size] >= QLatin1Char('0') &&
               text[size] <= QLatin1Char('9'))
            ++size;
        if (size == 0 || size == text.size()) return 0;
        if (text[size] != QLatin1Char('.') && text[size] != QLatin1Char(')')) return 0;
        ++size;
    }
    if (size == text.size()) return size + 1;
    if (!isBlankChar(text[size])) return 0;
    // More than four spaces belong to the text of the item.
    const qsizetype spaces = firstInk(text.mid(size));
    return size + (spaces > 4 ? 1 : spaces);
}

qsizetype fenceSize(QStringView text) {
    if (text.isEmpty() || (text[0] != QLatin1Char('`') && text[0] != QLatin1Char('~'))) return 0;
    qsizetype size = 0;
    while (size < text.size() && text[size] == text[0]) ++size;
    return size < 3 ? 0 : size;
}

}  // namespace hokku::desktop
