// SPDX-License-Identifier: Apache-2.0
// SystemTheme: whether the desktop prefers dark, by its portal where there is one, else by its
// palette; follows both while the app runs.
#pragma once

#include <QObject>
#include <QPalette>
#include <functional>
#include <optional>

namespace hokku::desktop {

/// Whether text is lighter than what is behind it.
bool isDark(const QPalette& palette);

/// Threads: the UI thread. Made before the app has a palette of its own.
class SystemTheme : public QObject {
    Q_OBJECT

  public:
    using PaletteSource = std::function<QPalette()>;
    /// Asks the portal; until it answers the palette tells.
    explicit SystemTheme(PaletteSource palette, QObject* parent = nullptr);

    [[nodiscard]] bool isDark() const { return m_portalSaysDark.value_or(m_paletteIsDark); }
    /// Lets the portal answer, so that the first window has the right colours. Runs an event loop:
    /// only for the start of the app.
    void waitForPortal(int milliseconds);

  signals:
    void changed();
    void portalAnswered();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void askPortal();
    /// The portal's color-scheme: 1 prefers dark, 2 light, anything else nothing.
    void takeScheme(uint scheme);
    void readPalette();
    void update(const std::function<void()>& change);

    PaletteSource m_palette;
    bool m_paletteIsDark = false;
    std::optional<bool> m_portalSaysDark;
    bool m_isAsking = false;
};

}  // namespace hokku::desktop
