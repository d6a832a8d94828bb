// SPDX-License-Identifier: Apache-2.0
// CodeHighlighter: finds keywords, strings, numbers and comments in lines of code, for a dozen
// languages that replies are full of. It colours what is plain to see and parses nothing.
#pragma once

#include <QString>
#include <QVector>

namespace hokku::desktop {

enum class CodeToken : quint8 { text, keyword, type, string, number, comment };

struct CodeSpan {
    qsizetype begin = 0, size = 0;
    CodeToken token = CodeToken::text;
    bool operator==(const CodeSpan&) const = default;
};

/// Lines are given in order: what one leaves open (a comment, a long string) the next goes on with.
/// Copying it keeps that state.
///
/// Cost: O(line).
class CodeHighlighter {
  public:
    /// `language` as written behind a fence, in any case: "cpp", "C++", "py", "sh" and so on. What
    /// is not known is not coloured.
    explicit CodeHighlighter(const QString& language = {});

    /// Spans in order that do not overlap; text between them is plain.
    [[nodiscard]] QVector<CodeSpan> line(QStringView text);

    /// For people: "C++" for "cpp"; the name itself where it is not known.
    [[nodiscard]] static QString displayName(const QString& language);

    struct Language;

  private:
    class Line;
    const Language* m_language = nullptr;
    QString m_open;  ///< What ends the comment or string that is open; empty: none is.
    CodeToken m_openToken = CodeToken::text;
};

}  // namespace hokku::desktop
