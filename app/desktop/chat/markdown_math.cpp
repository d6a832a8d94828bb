// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_math.h"

#include "chat/markdown_lines.h"

namespace hokku::desktop {
namespace {

/// Walks over the text between two code blocks.
class FormulaFinder {
  public:
    FormulaFinder(QStringView text, QStringList& formulas) : m_text(text), m_formulas(formulas) {
        m_result.reserve(text.size());
    }

    QString run() {
        while (m_position < m_text.size()) step();
        return m_result;
    }

  private:
    [[nodiscard]] QChar at(qsizetype i) const { return i < m_text.size() ? m_text[i] : QChar(); }
    void copy(qsizetype size) {
        m_result += m_text.mid(m_position, size);
        m_position += size;
    }
    void replace(qsizetype size) {
        m_result += kFormulaBegin + QString::number(m_formulas.size()) + kFormulaEnd;
        m_formulas.append(m_text.mid(m_position, size).toString());
        m_position += size;
    }
    /// Where the paragraph of the position ends.
    qsizetype paragraphEnd() {
        if (m_position >= m_paragraphEnd) {
            const qsizetype end = m_text.indexOf(QStringLiteral("\n\n"), m_position);
            m_paragraphEnd = end < 0 ? m_text.size() : end;
        }
        return m_paragraphEnd;
    }
    /// A text that closes formulas, and up to where the text is known to have none.
    struct Closing {
        QString text;
        qsizetype noneBefore = 0;
    };
    /// Size of what begins here and ends with `close`, in the same paragraph; 0: it does not.
    qsizetype sizeUntil(Closing& close, qsizetype open) {
        const qsizetype end = paragraphEnd(), from = m_position + open;
        if (end <= close.noneBefore || from >= end) return 0;
        const qsizetype found = m_text.first(end).indexOf(close.text, from);
        if (found < 0) close.noneBefore = end;
        return found <= from ? 0 : found + close.text.size() - m_position;
    }

    void step() {
        const QChar c = at(m_position);
        if (c == QLatin1Char('\\')) return backslash();
        if (c == QLatin1Char('`')) return codeSpan();
        if (c == QLatin1Char('$')) return dollar();
        copy(1);
    }

    void backslash() {
        const QChar next = at(m_position + 1);
        if (next != QLatin1Char('(') && next != QLatin1Char('[')) return copy(2);
        Closing& close = next == QLatin1Char('(') ? m_parenthesis : m_bracket;
        replace(qMax(sizeUntil(close, 2), qsizetype{2}));
    }

    void codeSpan() {
        qsizetype size = 1;
        while (at(m_position + size) == QLatin1Char('`')) ++size;
        const qsizetype end = paragraphEnd();
        for (qsizetype i = m_position + size; i < end;) {
            qsizetype run = 0;
            while (at(i + run) == QLatin1Char('`')) ++run;
            if (run == size) return copy(i + run - m_position);
            i += qMax(run, qsizetype{1});
        }
        copy(size);
    }

    void dollar() {
        if (at(m_position + 1) == QLatin1Char('$')) {
            const qsizetype size = sizeUntil(m_dollars, 2);
            return size > 0 ? replace(size) : copy(2);
        }
        // As in Pandoc: no space inside of the signs, no digit behind them, for prices.
        if (!at(m_position + 1).isSpace()) {
            for (qsizetype i = m_position + 1; i < m_text.size(); ++i) {
                if (m_text[i] == QLatin1Char('\n') || m_text[i] == QLatin1Char('`')) break;
                if (m_text[i] == QLatin1Char('\\')) {
                    ++i;
                } else if (m_text[i] == QLatin1Char('$')) {
                    if (i > m_position + 1 && !m_text[i - 1].isSpace() && !at(i + 1).isDigit())
                        return replace(i + 1 - m_position);
                    break;
                }
            }
        }
        copy(1);
    }

    QStringView m_text;
    QStringList& m_formulas;
    QString m_result;
    qsizetype m_position = 0, m_paragraphEnd = 0;
    Closing m_parenthesis{QStringLiteral("\\)")}, m_bracket{QStringLiteral("\\]")},
        m_dollars{QStringLiteral("$$")};
};

/// Whether the line would define the target of links, "[name]: target", and not be shown.
bool isDefinition(QStringView line) {
    const qsizetype ink = firstInk(line);
    if (ink == line.size() || line[ink] != QLatin1Char('[')) return false;
    const qsizetype close = line.indexOf(QLatin1Char(']'), ink);
    return close > 0 && close + 1 < line.size() && line[close + 1] == QLatin1Char(':');
}

}  // namespace

QString withoutSpecialCharacters(QString text) {
    for (QChar& c : text) {
        const char16_t code = c.unicode();
        if (code == 0 || (code >= 0xFDD0 && code <= 0xFDEF) || code == 0xFFFC || code == 0x2028 ||
            code == 0x2029)
            c = code == 0x2028 || code == 0x2029 ? QLatin1Char('\n') : QChar(0xFFFD);
    }
    return text;
}

QString shieldMarkdown(const QString& source, QStringList& formulas) {
    const QString text = withoutSpecialCharacters(source);
    QString result, prose;
    const auto flush = [&] {
        result += FormulaFinder(prose, formulas).run();
        prose.clear();
    };
    QChar mark;
    qsizetype size = 0;
    for (qsizetype begin = 0; begin < text.size();) {
        qsizetype end = text.indexOf(QLatin1Char('\n'), begin);
        end = end < 0 ? text.size() : end + 1;
        const QStringView line = QStringView(text).mid(begin, end - begin);
        begin = end;
        QStringView ink = line.trimmed();
        const bool wasCode = size > 0;
        if (!wasCode) {
            for (qsizetype marker = markerSize(ink); marker > 0 && marker < ink.size();
                 marker = markerSize(ink))
                ink = ink.mid(marker);
        }
        while (ink.startsWith(QLatin1Char('>'))) ink = ink.mid(1).trimmed();
        const qsizetype fence = fenceSize(ink);
        if (!wasCode && fence > 0 && !ink.mid(fence).contains(QLatin1Char('`'))) {
            mark = ink[0];
            size = fence;
        } else if (wasCode && fence >= size && ink[0] == mark && fence == ink.size()) {
            size = 0;
        }
        if (wasCode || size > 0) {
            flush();
            result += line;
        } else if (isDefinition(line)) {
            const qsizetype open = firstInk(line);
            prose += line.left(open);
            prose += QStringLiteral("&#91;");
            prose += line.mid(open + 1);
        } else {
            prose += line;
        }
    }
    flush();
    return result;
}

}  // namespace hokku::desktop
