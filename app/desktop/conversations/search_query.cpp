// SPDX-License-Identifier: Apache-2.0
#include "conversations/search_query.h"

namespace hokku::desktop {
namespace {

/// SQLite takes patterns of 50,000 bytes.
constexpr qsizetype kMostTyped = 500;
constexpr int kSnippetCharacters = 120, kBeforeMatch = 40;

/// Han, kana, Thai and the like are written without spaces between words.
bool isWithoutSpaces(char32_t c) {
    switch (QChar::script(c)) {
        case QChar::Script_Han:
        case QChar::Script_Hiragana:
        case QChar::Script_Katakana:
        case QChar::Script_Thai:
        case QChar::Script_Lao:
        case QChar::Script_Khmer:
        case QChar::Script_Myanmar:
            return true;
        default:
            // Emoji and the like are part of no word.
            return QChar::category(c) == QChar::Symbol_Other;
    }
}

/// Letters and digits; the rest separates, as in FTS5's unicode61.
QString wordsOf(const QString& text) {
    QString words;
    for (const QChar c : text)
        words += c.isLetterOrNumber() || c.isMark() || c.isSurrogate() ? c : QLatin1Char(' ');
    return words.simplified();
}

}  // namespace

SearchQuery parseSearch(const QString& text) {
    // Not with the half of a character.
    const QString typed = QString::fromUtf8(text.left(kMostTyped).toUtf8());
    SearchQuery query;
    const QStringList parts = typed.split(QLatin1Char('"'));
    for (qsizetype i = 0; i < parts.size(); ++i) {
        const QString words = wordsOf(parts[i].toLower());
        if (words.isEmpty()) continue;
        const bool isPhrase = i % 2 == 1;
        if (isPhrase) {
            query.terms.append(words);
        } else {
            query.terms.append(words.split(QLatin1Char(' ')));
        }
    }
    QStringList expressions;
    for (const QString& term : query.terms) expressions.append(QStringLiteral("\"%1\"*").arg(term));
    query.match = expressions.join(QStringLiteral(" AND "));
    for (const char32_t c : typed.toUcs4())
        query.isSubstring = query.isSubstring || isWithoutSpaces(c);
    if (query.isSubstring) {
        QString pattern = typed.trimmed();
        pattern.remove(QLatin1Char('"'));
        query.terms = {pattern.toLower()};
        for (const QChar c : {QLatin1Char('\\'), QLatin1Char('%'), QLatin1Char('_')})
            pattern.replace(c, QString(QLatin1Char('\\')) + c);
        query.likePattern = QLatin1Char('%') + pattern + QLatin1Char('%');
    }
    return query;
}

QString SearchQuery::mark(const QString& text) const {
    QString line = text.simplified();
    qsizetype first = -1;
    for (const QString& term : terms) {
        const qsizetype at = line.indexOf(term, 0, Qt::CaseInsensitive);
        if (at >= 0 && (first < 0 || at < first)) first = at;
    }
    if (line.size() > kSnippetCharacters) {
        const qsizetype from = qMax<qsizetype>(0, first - kBeforeMatch);
        line = (from > 0 ? QStringLiteral("…") : QString()) + line.mid(from, kSnippetCharacters) +
               (from + kSnippetCharacters < line.size() ? QStringLiteral("…") : QString());
    }
    QString marked;
    for (qsizetype i = 0; i < line.size();) {
        qsizetype matched = 0;
        const bool isWordStart = isSubstring || i == 0 || !line[i - 1].isLetterOrNumber();
        for (const QString& term : terms) {
            if (isWordStart && line.mid(i, term.size()).compare(term, Qt::CaseInsensitive) == 0)
                matched = qMax(matched, term.size());
        }
        if (matched == 0) {
            marked += line[i++];
            continue;
        }
        marked += QChar(0xE000) + line.mid(i, matched) + QChar(0xE001);
        i += matched;
    }
    return marked;
}

}  // namespace hokku::desktop
