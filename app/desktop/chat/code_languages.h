// SPDX-License-Identifier: Apache-2.0
// What CodeHighlighter knows of each language.
#pragma once

#include <QSet>
#include <QString>
#include <QStringList>

#include "chat/code_highlighter.h"

namespace hokku::desktop {

enum class CodeGrammar { words, markdown, markup };

struct CodeHighlighter::Language {
    QString name;         ///< For people.
    QStringList aliases;  ///< In lower case.
    CodeGrammar grammar = CodeGrammar::words;
    QSet<QString> keywords;
    QSet<QString> types;  ///< And constants.
    QStringList lineComments{};
    QStringList blockComments{};  ///< Pairs of begin and end.
    QString quotes{};             ///< Characters that begin and end a string in one line.
    QStringList longQuotes{};     ///< Begin and end a string over lines.
    bool ignoresCase = false;
    bool hasDirectives = false;  ///< '#' at the start of a line.
    bool hasVariables = false;   ///< "$name".
    bool hasCharacters = false;  ///< 'x' is one character; a lone apostrophe is none.
    bool hasKeys = false;        ///< A string or a word before ':' is a key.
};

/// Null: not known.
[[nodiscard]] const CodeHighlighter::Language* findLanguage(const QString& name);

}  // namespace hokku::desktop
