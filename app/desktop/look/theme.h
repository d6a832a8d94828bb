// SPDX-License-Identifier: Apache-2.0
// Theme: the colours, fonts and distances of the app in its light and its dark form, as ink on
// paper with the vermilion of a seal. The one place that knows a colour.
#pragma once

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QObject>
#include <QString>

namespace hokku::desktop {

struct Colors {
    QColor ground;    ///< Behind the text.
    QColor raised;    ///< Sidebar, turns of people, fields.
    QColor ink;       ///< Text.
    QColor faint;     ///< Text of less weight; 4.5:1 on ground and raised.
    QColor hairline;  ///< Lines and borders.
    QColor accent;    ///< Send, links, what is found; never large areas.
    QColor onAccent;  ///< Text on the accent.
    QColor focus;  ///< The edge of what has the focus; no red, which says that something is wrong.
    QColor selection;  ///< Behind selected text.
    QColor warning;
    QColor codeGround, codeKeyword, codeString, codeComment, codeNumber, codeType;
};

/// Distances in device-independent pixels: multiples of kGrid.
inline constexpr int kGrid = 8;
inline constexpr int kRadius = 8;
inline constexpr int kReadingWidth = 720;

class SystemTheme;

enum class ThemeChoice { system, light, dark };

/// Threads: the UI thread. One for the app, made before the first widget.
class Theme : public QObject {
    Q_OBJECT

  public:
    static Theme& instance();

    /// From now on ThemeChoice::system is what the desktop's portal says, and follows portal and
    /// palette. Without it, the palette that the program was started with tells.
    /// Needs  : called once, before the first window: the portal has a moment to answer.
    void followSystem();
    void apply(ThemeChoice choice, int fontPercent);
    [[nodiscard]] bool isDark() const { return m_isDark; }
    [[nodiscard]] const Colors& colors() const { return m_colors; }
    [[nodiscard]] QFont textFont() const;   ///< Controls and replies.
    [[nodiscard]] QFont verseFont() const;  ///< Drafts and verse.
    [[nodiscard]] QFont codeFont() const;
    /// An icon of resources/desktop/icons in the colour of the ink; follows the theme.
    [[nodiscard]] QIcon icon(const QString& name) const;
    [[nodiscard]] QIcon accentIcon(const QString& name) const;

  signals:
    /// Widgets that hold colours of their own set them anew.
    void changed();

  private:
    Theme();
    SystemTheme* m_system = nullptr;  ///< Lives as long as the application object.
    ThemeChoice m_choice = ThemeChoice::light;
    bool m_isDark = false;
    int m_fontPercent = 100;
    Colors m_colors;
};

}  // namespace hokku::desktop
