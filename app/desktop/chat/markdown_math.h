// SPDX-License-Identifier: Apache-2.0
// Formulas in Markdown: they are taken out before it is parsed and put back verbatim, so that no
// underscore in them becomes emphasis. Nothing is typeset.
#pragma once

#include <QString>
#include <QStringList>

namespace hokku::desktop {

/// Stand for the formula of an index: kFormulaBegin, its decimal index, kFormulaEnd. Unicode
/// noncharacters, which shieldMarkdown() takes out of the text itself.
inline constexpr QChar kFormulaBegin(0xFDD2), kFormulaEnd(0xFDD3);

/// Characters to which a text document gives a meaning of its own become U+FFFD or a new line.
[[nodiscard]] QString withoutSpecialCharacters(QString text);

/// Text that is safe to parse: formulas ($..$, $$..$$, \(..\), \[..\]) outside of code are
/// replaced, and added to `formulas`; link definitions are escaped, for they would vanish.
[[nodiscard]] QString shieldMarkdown(const QString& text, QStringList& formulas);

}  // namespace hokku::desktop
