// SPDX-License-Identifier: Apache-2.0
#include "look/size_text.h"

#include <QLocale>

#include "gui/support/catch_qt.h"

using namespace hokku::desktop;

TEST_CASE("sizeText: the unit is the one that was counted in", "[gui][quick]") {
    const QLocale before;
    QLocale::setDefault(QLocale(QLocale::English));
    const auto plain = [](quint64 bytes) {
        return sizeText(bytes).replace(QChar::Nbsp, QLatin1Char(' '));
    };
    CHECK(plain(98'362'432) == QStringLiteral("98.4 MB"));
    CHECK(plain(1'000'000) == QStringLiteral("1.0 MB"));
    CHECK(plain(1'048'576) == QStringLiteral("1.0 MB"));
    CHECK(plain(21'904'333'209) == QStringLiteral("21.9 GB"));
    CHECK_FALSE(sizeText(5'000'000).contains(QLatin1Char(' ')));
    QLocale::setDefault(QLocale(QLocale::German));
    CHECK(plain(98'362'432) == QStringLiteral("98,4 MB"));
    QLocale::setDefault(before);
}
