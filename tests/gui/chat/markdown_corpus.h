// SPDX-License-Identifier: Apache-2.0
// Markdown as models write it, and as nobody should: texts for the scanner, the parser and the
// document.
#pragma once

#include <QString>
#include <QVector>

namespace hokku::testing {

struct MarkdownCase {
    const char* name;
    QString text;
};

/// Short texts, each on one thing, and long ones that have to be cut.
[[nodiscard]] const QVector<MarkdownCase>& markdownCorpus();

/// A paragraph without a line break, a code block, a list, a table, a quotation; each of about
/// `size` characters.
[[nodiscard]] QVector<MarkdownCase> longBlocks(qsizetype size);

}  // namespace hokku::testing
