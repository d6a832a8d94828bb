// SPDX-License-Identifier: Apache-2.0
#include "conversations/search_query.h"

#include "support/catch.h"

using namespace hokku::desktop;

TEST_CASE("SearchQuery: words are prefixes that all must match", "[gui][quick]") {
    const SearchQuery query = parseSearch(QStringLiteral("Autumn  rai"));
    CHECK(query.terms == QStringList{QStringLiteral("autumn"), QStringLiteral("rai")});
    CHECK(query.match == QStringLiteral("\"autumn\"* AND \"rai\"*"));
    CHECK_FALSE(query.isSubstring);
}

TEST_CASE("SearchQuery: quotes make a phrase, also when they are not closed", "[gui][quick]") {
    CHECK(parseSearch(QStringLiteral("\"old pond\" frog")).terms ==
          QStringList{QStringLiteral("old pond"), QStringLiteral("frog")});
    CHECK(parseSearch(QStringLiteral("frog \"old pond")).terms ==
          QStringList{QStringLiteral("frog"), QStringLiteral("old pond")});
}

TEST_CASE("SearchQuery: what has no letters is no query", "[gui][quick]") {
    for (const char* typed : {"", "   ", "\"", "\"\"\"", "-*()", "'", "%"})
        CHECK(parseSearch(QString::fromLatin1(typed)).isEmpty());
}

TEST_CASE("SearchQuery: scripts without spaces are searched as substrings", "[gui][quick]") {
    const SearchQuery query = parseSearch(QStringLiteral("古池"));
    CHECK(query.isSubstring);
    CHECK(query.likePattern == QStringLiteral("%古池%"));
    CHECK(parseSearch(QStringLiteral("古_%")).likePattern == QStringLiteral("%古\\_\\%%"));
}

TEST_CASE("SearchQuery: marks every match, and words only at their beginning", "[gui][quick]") {
    const SearchQuery query = parseSearch(QStringLiteral("rain"));
    const QString open(QChar(0xE000)), close(QChar(0xE001));
    CHECK(query.mark(QStringLiteral("Rain on the train, rainy")) ==
          open + QStringLiteral("Rain") + close + QStringLiteral(" on the train, ") + open +
              QStringLiteral("rain") + close + QStringLiteral("y"));
    const QString marked = query.mark(QString(500, QLatin1Char('x')) + QStringLiteral(" rain ") +
                                      QString(500, QLatin1Char('y')));
    CHECK(marked.startsWith(QStringLiteral("…")));
    CHECK(marked.endsWith(QStringLiteral("…")));
    CHECK(marked.contains(open + QStringLiteral("rain") + close));
}

TEST_CASE("SearchQuery: emoji are found, long texts and halves of characters do no harm",
          "[gui][quick]") {
    const QString emoji = QString::fromUtf8("\xf0\x9f\x98\x80");
    CHECK(parseSearch(emoji).likePattern == QLatin1Char('%') + emoji + QLatin1Char('%'));
    CHECK(parseSearch(QString(QChar(0xD800))).isEmpty());
    // SQLite refuses patterns of more than 50,000 bytes.
    const QString pattern = parseSearch(QString(30'000, QChar(0x53E4))).likePattern;
    CHECK(pattern.size() > 100);
    CHECK(pattern.toUtf8().size() < 50'000);
    CHECK(parseSearch(QStringLiteral("word ").repeated(6'000)).terms.size() <= 100);
}
