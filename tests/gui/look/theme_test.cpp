// SPDX-License-Identifier: Apache-2.0
#include "look/theme.h"

#include <cmath>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// What WCAG 2.1 asks for: text, and what must be made out without being read.
constexpr double kText = 4.5, kShape = 3.0;

double luminance(const QColor& color) {
    const auto linear = [](double value) {
        return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double first = luminance(a), second = luminance(b);
    return (qMax(first, second) + 0.05) / (qMin(first, second) + 0.05);
}

struct Pair {
    const char* name;
    QColor front, back;
    double least;
};

QVector<Pair> pairsOf(const Colors& c) {
    return {
        {"text", c.ink, c.ground, kText},
        {"text on the sidebar and on messages", c.ink, c.raised, kText},
        {"selected text", c.ink, c.selection, kText},
        {"text of what is pressed or under the pointer", c.ink, c.hairline, kText},
        {"remarks", c.faint, c.ground, kText},
        {"remarks on cards", c.faint, c.raised, kText},
        {"what cannot be pressed", c.faint, c.hairline, kText},
        {"matches of a search", c.accent, c.raised, kText},
        {"text on the accent", c.onAccent, c.accent, kText},
        {"warnings", c.warning, c.ground, kText},
        {"warnings on cards", c.warning, c.raised, kText},
        {"code", c.ink, c.codeGround, kText},
        {"keywords", c.codeKeyword, c.codeGround, kText},
        {"strings", c.codeString, c.codeGround, kText},
        {"comments", c.codeComment, c.codeGround, kText},
        {"numbers", c.codeNumber, c.codeGround, kText},
        {"types", c.codeType, c.codeGround, kText},
        {"the focus", c.focus, c.ground, kShape},
        {"the focus in the sidebar", c.focus, c.raised, kShape},
        {"boxes to tick", c.faint, c.ground, kShape},
    };
}

}  // namespace

TEST_CASE("Theme: all text can be told from what is behind it", "[gui][quick]") {
    application();
    for (const ThemeChoice theme : {ThemeChoice::light, ThemeChoice::dark}) {
        Theme::instance().apply(theme, 100);
        CHECK(Theme::instance().isDark() == (theme == ThemeChoice::dark));
        for (const Pair& pair : pairsOf(Theme::instance().colors())) {
            INFO((theme == ThemeChoice::dark ? "dark: " : "light: ") << pair.name);
            CHECK(contrast(pair.front, pair.back) >= pair.least);
        }
    }
}

TEST_CASE("Theme: contrast is computed as WCAG does", "[gui][quick]") {
    CHECK(contrast(Qt::black, Qt::white) == Approx(21.0));
    // An example of the W3C: #777777 on white just misses 4.5.
    CHECK(contrast(QColor(0x77, 0x77, 0x77), Qt::white) == Approx(4.48).margin(0.01));
    CHECK(contrast(QColor(0x76, 0x76, 0x76), Qt::white) == Approx(4.54).margin(0.01));
}

TEST_CASE("Theme: the size of the text holds for all fonts and for the controls", "[gui][quick]") {
    application();
    Theme& theme = Theme::instance();
    theme.apply(ThemeChoice::light, 100);
    const double text = theme.textFont().pointSizeF(), code = theme.codeFont().pointSizeF(),
                 verse = theme.verseFont().pointSizeF(),
                 controls = QApplication::font().pointSizeF();
    for (const int percent : {80, 150, 200}) {
        CAPTURE(percent);
        theme.apply(ThemeChoice::light, percent);
        CHECK(theme.textFont().pointSizeF() == Approx(text * percent / 100).epsilon(0.02));
        CHECK(theme.codeFont().pointSizeF() == Approx(code * percent / 100).epsilon(0.02));
        CHECK(theme.verseFont().pointSizeF() == Approx(verse * percent / 100).epsilon(0.02));
        CHECK(QApplication::font().pointSizeF() == Approx(controls * percent / 100).epsilon(0.02));
    }
    theme.apply(ThemeChoice::light, 100);
}

TEST_CASE("Theme: icons are drawn for the screen's own pixels", "[gui][quick]") {
    application();
    const QSize size(20, 20);
    for (const char* name : {"send", "settings", "copy", "delete"}) {
        const QIcon icon = Theme::instance().icon(QLatin1String(name));
        const QImage plain = icon.pixmap(size, 1.0).toImage();
        for (const double ratio : {1.0, 1.25, 1.5, 2.0}) {
            CAPTURE(name, ratio);
            const QPixmap drawn = icon.pixmap(size, ratio);
            CHECK(drawn.devicePixelRatio() == Approx(ratio));
            CHECK(drawn.size() == size * ratio);
            // Not a small one made larger.
            const QImage enlarged =
                plain.scaled(drawn.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
            if (ratio > 1) CHECK(drawn.toImage().convertToFormat(enlarged.format()) != enlarged);
        }
    }
}
