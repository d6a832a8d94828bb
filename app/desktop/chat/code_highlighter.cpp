// SPDX-License-Identifier: Apache-2.0
#include "chat/code_highlighter.h"

#include "chat/code_languages.h"
#include "chat/markdown_lines.h"

namespace hokku::desktop {
namespace {

bool isWordChar(QChar c) {
    return c.isLetterOrNumber() || c == QLatin1Char('_');
}

}  // namespace

/// Reads one line.
class CodeHighlighter::Line {
  public:
    Line(CodeHighlighter& state, QStringView text)
        : m_state(state), m_language(*state.m_language), m_text(text) {}

    QVector<CodeSpan> run() {
        if (!m_state.m_open.isEmpty()) finishOpen(0);
        switch (m_language.grammar) {
            case CodeGrammar::words:
                words();
                break;
            case CodeGrammar::markdown:
                markdown();
                break;
            case CodeGrammar::markup:
                markup();
                break;
        }
        return m_spans;
    }

  private:
    void add(qsizetype size, CodeToken token) {
        size = qMin(size, m_text.size() - m_position);
        if (size > 0 && token != CodeToken::text) m_spans.append({m_position, size, token});
        m_position += qMax(size, qsizetype{1});
    }
    [[nodiscard]] QChar at(qsizetype i) const { return i < m_text.size() ? m_text[i] : QChar(); }
    [[nodiscard]] bool here(const QString& text) const {
        return m_text.mid(m_position).startsWith(text);
    }

    /// From here to the end of what is open, or of the line.
    void finishOpen(qsizetype opening) {
        const qsizetype end = m_text.indexOf(m_state.m_open, m_position + opening);
        const qsizetype size =
            end < 0 ? m_text.size() - m_position : end + m_state.m_open.size() - m_position;
        if (end >= 0) m_state.m_open.clear();
        add(size, m_state.m_openToken);
        if (size == 0) m_position = 0;
    }
    bool open(const QString& begin, const QString& end, CodeToken token) {
        if (!here(begin)) return false;
        m_state.m_open = end;
        m_state.m_openToken = token;
        finishOpen(begin.size());
        return true;
    }
    /// Of the string that begins here; 1 where it does not end: an apostrophe or a lifetime.
    [[nodiscard]] qsizetype stringSize(QChar quote) const {
        qsizetype i = m_position + 1;
        while (i < m_text.size() && m_text[i] != quote) i += m_text[i] == QLatin1Char('\\') ? 2 : 1;
        return i < m_text.size() ? i + 1 - m_position : 1;
    }
    void string(QChar quote) {
        const qsizetype size = stringSize(quote);
        const CodeToken token = isKey(m_position + size) ? CodeToken::type : CodeToken::string;
        add(size, size == 1 ? CodeToken::text : token);
    }
    /// Whether a colon follows what ends at `end`.
    [[nodiscard]] bool isKey(qsizetype end) const {
        if (!m_language.hasKeys) return false;
        const QStringView rest = m_text.mid(qMin(end, m_text.size())).trimmed();
        return rest.startsWith(QLatin1Char(':')) || rest.startsWith(QLatin1Char('='));
    }

    // ---- Most languages ----------------------------------------------------------------------

    void words() {
        const qsizetype ink = firstInk(m_text);
        if (m_position == 0 && m_language.hasDirectives && at(ink) == QLatin1Char('#')) {
            m_position = ink;
            qsizetype size = 1;
            while (at(ink + size).isLetter()) ++size;
            add(size, CodeToken::keyword);
        }
        while (m_position < m_text.size()) {
            if (comment() || longString()) continue;
            const QChar c = at(m_position);
            if (m_language.quotes.contains(c)) {
                string(c);
            } else if (m_language.hasCharacters && c == QLatin1Char('\'')) {
                character();
            } else if (m_language.hasVariables && c == QLatin1Char('$')) {
                variable();
            } else if (c.isDigit()) {
                number();
            } else if (isWordChar(c)) {
                word();
            } else {
                ++m_position;
            }
        }
    }

    bool comment() {
        for (const QString& begin : m_language.lineComments) {
            if (!here(begin)) continue;
            // In shells and settings, a '#' within a word is none.
            const bool isHash = begin == QLatin1String("#");
            if (isHash && m_position > 0 && !m_text[m_position - 1].isSpace()) continue;
            add(m_text.size() - m_position, CodeToken::comment);
            return true;
        }
        for (qsizetype i = 0; i + 1 < m_language.blockComments.size(); i += 2)
            if (open(m_language.blockComments[i], m_language.blockComments[i + 1],
                     CodeToken::comment))
                return true;
        return false;
    }
    bool longString() {
        for (const QString& quote : m_language.longQuotes)
            if (open(quote, quote, CodeToken::string)) return true;
        return false;
    }
    void character() {
        const bool isEscaped = at(m_position + 1) == QLatin1Char('\\');
        if (isEscaped || at(m_position + 2) == QLatin1Char('\'')) return string(at(m_position));
        ++m_position;
    }
    void variable() {
        qsizetype size = 1;
        if (at(m_position + 1) == QLatin1Char('{')) {
            const qsizetype end = m_text.indexOf(QLatin1Char('}'), m_position);
            size = end < 0 ? m_text.size() - m_position : end + 1 - m_position;
        } else {
            while (isWordChar(at(m_position + size))) ++size;
        }
        add(size, CodeToken::type);
    }
    void number() {
        qsizetype size = 1;
        for (;; ++size) {
            const QChar c = at(m_position + size);
            const bool isSign = (c == QLatin1Char('+') || c == QLatin1Char('-')) &&
                                at(m_position + size - 1).toLower() == QLatin1Char('e') &&
                                at(m_position + 1) != QLatin1Char('x');
            if (!isWordChar(c) && c != QLatin1Char('.') && !isSign) break;
        }
        add(size, CodeToken::number);
    }
    void word() {
        qsizetype size = 1;
        while (isWordChar(at(m_position + size))) ++size;
        QString name = m_text.mid(m_position, size).toString();
        if (m_language.ignoresCase) name = name.toLower();
        CodeToken token = CodeToken::text;
        if (m_language.keywords.contains(name)) token = CodeToken::keyword;
        if (m_language.types.contains(name) || isKey(m_position + size)) token = CodeToken::type;
        add(size, token);
    }

    // ---- Markdown ----------------------------------------------------------------------------

    void markdown() {
        if (m_position > 0 || m_text.isEmpty()) return;
        const qsizetype ink = firstInk(m_text);
        const QStringView text = m_text.mid(ink);
        if (text.startsWith(QLatin1Char('#'))) return add(m_text.size(), CodeToken::keyword);
        if (text.startsWith(QLatin1Char('>'))) return add(m_text.size(), CodeToken::comment);
        if (fenceSize(text) > 0) {
            m_state.m_open = text.left(fenceSize(text)).toString();
            m_state.m_openToken = CodeToken::string;
            return add(m_text.size(), CodeToken::string);
        }
        m_position = ink;
        if (const qsizetype marker = markerSize(text); marker > 0) add(marker, CodeToken::number);
        while (m_position < m_text.size()) {
            const QChar c = at(m_position);
            if (c == QLatin1Char('`')) {
                string(c);
            } else if (here(QStringLiteral("**"))) {
                const qsizetype end = m_text.indexOf(QStringLiteral("**"), m_position + 2);
                add(end < 0 ? 2 : end + 2 - m_position,
                    end < 0 ? CodeToken::text : CodeToken::type);
            } else {
                ++m_position;
            }
        }
    }

    // ---- HTML and XML ------------------------------------------------------------------------

    void markup() {
        while (m_position < m_text.size()) {
            if (open(QStringLiteral("<!--"), QStringLiteral("-->"), CodeToken::comment)) continue;
            const QChar c = at(m_position);
            if (c == QLatin1Char('<')) {
                tag();
            } else if (c == QLatin1Char('&')) {
                const qsizetype end = m_text.indexOf(QLatin1Char(';'), m_position);
                const bool isEntity = end > 0 && end - m_position < 12;
                add(isEntity ? end + 1 - m_position : 1,
                    isEntity ? CodeToken::number : CodeToken::text);
            } else {
                ++m_position;
            }
        }
    }
    void tag() {
        qsizetype size = 1;
        while (isWordChar(at(m_position + size)) ||
               QStringLiteral("/!?-:").contains(at(m_position + size)))
            ++size;
        add(size, size > 1 ? CodeToken::keyword : CodeToken::text);
        if (size == 1) return;
        while (m_position < m_text.size()) {
            const QChar c = at(m_position);
            if (c == QLatin1Char('>')) return add(1, CodeToken::keyword);
            if (c == QLatin1Char('"') || c == QLatin1Char('\'')) {
                string(c);
            } else if (isWordChar(c)) {
                qsizetype name = 1;
                while (isWordChar(at(m_position + name)) ||
                       QStringLiteral("-:").contains(at(m_position + name)))
                    ++name;
                add(name, CodeToken::type);
            } else if (c == QLatin1Char('/') || c == QLatin1Char('?')) {
                add(1, CodeToken::keyword);
            } else {
                ++m_position;
            }
        }
    }

    CodeHighlighter& m_state;
    const Language& m_language;
    QStringView m_text;
    qsizetype m_position = 0;
    QVector<CodeSpan> m_spans;
};

CodeHighlighter::CodeHighlighter(const QString& language) : m_language(findLanguage(language)) {}

QVector<CodeSpan> CodeHighlighter::line(QStringView text) {
    if (m_language == nullptr) return {};
    return Line(*this, text).run();
}

QString CodeHighlighter::displayName(const QString& language) {
    const Language* known = findLanguage(language);
    return known == nullptr ? language : known->name;
}

}  // namespace hokku::desktop
