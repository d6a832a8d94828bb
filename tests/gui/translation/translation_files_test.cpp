// SPDX-License-Identifier: Apache-2.0
#include <QRegularExpression>

#include "gui/support/catch_qt.h"
#include "gui/translation/ts_file.h"

using namespace hokku::testing;

namespace {

/// "%1", "%n" and the like, in order.
QStringList places(const QString& text) {
    static const QRegularExpression place(QStringLiteral("%(?:\\d+|n)"));
    QStringList found;
    for (auto match = place.globalMatch(text); match.hasNext();)
        found.append(match.next().captured());
    found.sort();
    return found;
}

/// The mark at the end, which a label keeps in every language.
QString ending(const QString& text) {
    static const QRegularExpression mark(QStringLiteral("(…|:|\\?|\\. | $)$"));
    QString unified = text;
    unified.replace(QLatin1String("..."), QStringLiteral("…"));
    return mark.match(unified).captured(1);
}

}  // namespace

TEST_CASE("Translations: all messages are finished and keep their places", "[gui][quick]") {
    for (const char* file : {"hokku_de.ts", "hokku_en.ts", "qt_de.ts"}) {
        const QVector<TsMessage> messages = readTsFile(QLatin1String(file));
        REQUIRE(messages.size() > 0);
        for (const TsMessage& message : messages) {
            INFO(file << ": " << message.source.toStdString());
            CHECK(message.isFinished);
            CHECK(message.forms.size() == (message.isPlural ? 2 : 1));
            for (const QString& form : message.forms) {
                CHECK_FALSE(form.isEmpty());
                CHECK(places(form) == places(message.source));
                CHECK(ending(form) == ending(message.source));
            }
        }
    }
}

TEST_CASE("Translations: German addresses nobody", "[gui][quick]") {
    // "Sie" begins a sentence about things, too; elsewhere it is a form of address.
    const QRegularExpression address(
        QStringLiteral("[\\p{L},;] Sie\\b|\\bIhnen\\b|\\bIhre?[nmr]?\\b"));
    for (const TsMessage& message : readTsFile(QStringLiteral("hokku_de.ts"))) {
        for (const QString& form : message.forms) {
            INFO(form.toStdString());
            CHECK_FALSE(address.match(form).hasMatch());
        }
    }
}

TEST_CASE("Translations: German uses its own quotation marks", "[gui][quick]") {
    for (const char* file : {"hokku_de.ts", "qt_de.ts"}) {
        for (const TsMessage& message : readTsFile(QLatin1String(file))) {
            for (const QString& form : message.forms) {
                INFO(form.toStdString());
                CHECK_FALSE(form.contains(QLatin1Char('"')));
                CHECK_FALSE(form.contains(QLatin1Char('\'')));
                CHECK_FALSE(form.contains(QLatin1String("...")));
                CHECK(form.count(QChar(0x201E)) == form.count(QChar(0x201C)));
                CHECK_FALSE(form.contains(QChar(0x201D)));
            }
        }
    }
}
