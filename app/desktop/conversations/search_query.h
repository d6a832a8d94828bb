// SPDX-License-Identifier: Apache-2.0
// What a person typed into the search field, as a query that SQLite always understands.
#pragma once

#include <QString>
#include <QStringList>

namespace hokku::desktop {

struct SearchQuery {
    QStringList terms;         ///< Words and phrases, lower case.
    QString match;             ///< FTS5 expression: each term a quoted prefix.
    bool isSubstring = false;  ///< A script without spaces: look for the text itself.
    QString likePattern;

    [[nodiscard]] bool isEmpty() const { return terms.isEmpty(); }
    /// A piece of `text` around the first match, with all matches between U+E000 and U+E001.
    [[nodiscard]] QString mark(const QString& text) const;
};

SearchQuery parseSearch(const QString& typed);

}  // namespace hokku::desktop
