// SPDX-License-Identifier: Apache-2.0
#include "look/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontInfo>
#include <QGuiApplication>
#include <QPalette>
#include <QStyleFactory>

#include "look/style_sheet.h"
#include "look/svg_icon.h"
#include "look/system_theme.h"

/// Resources of a static library are there only once they are asked for, outside any namespace.
static void loadResources() {
    Q_INIT_RESOURCE(hokku);
}

namespace hokku::desktop {
namespace {

Colors lightColors() {
    return {.ground = QColor(0xFA, 0xF8, 0xF4),
            .raised = QColor(0xF1, 0xED, 0xE5),
            .ink = QColor(0x1F, 0x1B, 0x17),
            .faint = QColor(0x61, 0x5A, 0x51),
            .hairline = QColor(0xDD, 0xD6, 0xCA),
            .accent = QColor(0xC2, 0x3B, 0x2A),
            .onAccent = QColor(0xFF, 0xFF, 0xFF),
            .focus = QColor(0x2F, 0x5D, 0x8A),
            .selection = QColor(0xF0, 0xD5, 0xCB),
            .warning = QColor(0x8A, 0x5A, 0x00),
            .codeGround = QColor(0xF1, 0xED, 0xE5),
            .codeKeyword = QColor(0x9B, 0x2C, 0x1F),
            .codeString = QColor(0x3F, 0x66, 0x2C),
            .codeComment = QColor(0x6B, 0x64, 0x5B),
            .codeNumber = QColor(0x7A, 0x4A, 0x00),
            .codeType = QColor(0x1E, 0x5B, 0x86)};
}

Colors darkColors() {
    return {.ground = QColor(0x17, 0x16, 0x15),
            .raised = QColor(0x22, 0x20, 0x1E),
            .ink = QColor(0xE9, 0xE4, 0xDB),
            .faint = QColor(0xA8, 0xA0, 0x95),
            .hairline = QColor(0x38, 0x34, 0x30),
            .accent = QColor(0xE2, 0x67, 0x4F),
            .onAccent = QColor(0x17, 0x16, 0x15),
            .focus = QColor(0x6F, 0x9C, 0xC0),
            .selection = QColor(0x5A, 0x33, 0x2A),
            .warning = QColor(0xE0, 0xB0, 0x5C),
            .codeGround = QColor(0x22, 0x20, 0x1E),
            .codeKeyword = QColor(0xF0, 0x8D, 0x77),
            .codeString = QColor(0xA9, 0xC7, 0x8B),
            .codeComment = QColor(0x9A, 0x92, 0x87),
            .codeNumber = QColor(0xE3, 0xB5, 0x6B),
            .codeType = QColor(0x8F, 0xBF, 0xE0)};
}

/// For the portal to answer before the first window is drawn.
constexpr int kPortalPatienceMs = 50;

bool isDarkPalette() {
    static const QPalette system = QGuiApplication::palette();
    return isDark(system);
}

/// The desktop's, without what apply() has set.
QPalette desktopPalette() {
    const QPalette own = QGuiApplication::palette();
    QApplication::setPalette(QPalette());
    const QPalette system = QGuiApplication::palette();
    QApplication::setPalette(own);
    return system;
}

QPalette paletteOf(const Colors& c) {
    QPalette palette;
    palette.setColor(QPalette::Window, c.ground);
    palette.setColor(QPalette::WindowText, c.ink);
    palette.setColor(QPalette::Base, c.ground);
    palette.setColor(QPalette::AlternateBase, c.raised);
    palette.setColor(QPalette::Text, c.ink);
    palette.setColor(QPalette::PlaceholderText, c.faint);
    palette.setColor(QPalette::Button, c.raised);
    palette.setColor(QPalette::ButtonText, c.ink);
    palette.setColor(QPalette::BrightText, c.accent);
    palette.setColor(QPalette::Highlight, c.selection);
    palette.setColor(QPalette::HighlightedText, c.ink);
    palette.setColor(QPalette::Link, c.accent);
    palette.setColor(QPalette::LinkVisited, c.accent);
    palette.setColor(QPalette::ToolTipBase, c.raised);
    palette.setColor(QPalette::ToolTipText, c.ink);
    palette.setColor(QPalette::Light, c.raised);
    palette.setColor(QPalette::Midlight, c.hairline);
    palette.setColor(QPalette::Mid, c.hairline);
    palette.setColor(QPalette::Dark, c.hairline);
    palette.setColor(QPalette::Shadow, c.hairline);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, c.faint);
    return palette;
}

/// The system's font size in points before it was scaled.
double systemPointSize() {
    static const double size = [] {
        const double points = QApplication::font().pointSizeF();
        return points > 0 ? points : 10.0;
    }();
    return size;
}

}  // namespace

Theme& Theme::instance() {
    static Theme theme;
    return theme;
}

Theme::Theme() : m_colors(lightColors()) {
    loadResources();
}

void Theme::followSystem() {
    m_system = new SystemTheme(desktopPalette, qApp);
    QObject::connect(m_system, &SystemTheme::changed, this, [this] {
        if (m_choice == ThemeChoice::system) apply(m_choice, m_fontPercent);
    });
    m_system->waitForPortal(kPortalPatienceMs);
}

void Theme::apply(ThemeChoice choice, int fontPercent) {
    m_choice = choice;
    const bool systemIsDark = m_system != nullptr ? m_system->isDark() : isDarkPalette();
    m_isDark = choice == ThemeChoice::dark || (choice == ThemeChoice::system && systemIsDark);
    m_fontPercent = fontPercent;
    m_colors = m_isDark ? darkColors() : lightColors();
    static bool hasStyle = false;
    if (!hasStyle) QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    hasStyle = true;
    QApplication::setPalette(paletteOf(m_colors));
    QApplication::setFont(textFont());
    qApp->setStyleSheet(styleSheet(m_colors));
    emit changed();
}

QFont Theme::textFont() const {
    static const QFont system = QFontDatabase::systemFont(QFontDatabase::GeneralFont);
    QFont font = system;
    font.setPointSizeF(systemPointSize() * m_fontPercent / 100.0);
    return font;
}

QFont Theme::verseFont() const {
    QFont font = textFont();
    font.setFamilies({QStringLiteral("Source Serif 4"), QStringLiteral("Noto Serif"),
                      QStringLiteral("Georgia"), QStringLiteral("DejaVu Serif"),
                      QStringLiteral("serif")});
    font.setStyleHint(QFont::Serif);
    font.setPointSizeF(font.pointSizeF() * 1.1);
    return font;
}

QFont Theme::codeFont() const {
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPointSizeF(textFont().pointSizeF() * 0.95);
    // Else Qt may take a bold face for the letters that it lacks.
    font.setFamilies({QFontInfo(font).family(), QStringLiteral("Noto Sans Mono CJK JP")});
    return font;
}

QIcon Theme::icon(const QString& name) const {
    return svgIcon(name, SvgIconInk::text);
}

QIcon Theme::accentIcon(const QString& name) const {
    return svgIcon(name, SvgIconInk::onAccent);
}

}  // namespace hokku::desktop
