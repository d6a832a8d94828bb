// SPDX-License-Identifier: Apache-2.0
// Tray: the icon in the tray of the desktop, for those who want the app to stay when its window is
// closed. Off unless the settings say otherwise.
#pragma once

#include <QObject>
#include <memory>

#include "settings/settings.h"

class QMenu;
class QSystemTrayIcon;

namespace hokku::desktop {

/// Threads: the UI thread. `settings` must outlive it.
class Tray : public QObject {
    Q_OBJECT

  public:
    explicit Tray(Settings& settings, QObject* parent = nullptr);
    ~Tray() override;

    /// Whether a closed window can be found again.
    [[nodiscard]] bool isShown() const;
    [[nodiscard]] QSystemTrayIcon* icon() const { return m_icon.get(); }
    void retranslate();

  signals:
    void changed();  ///< icon() is another one.
    void showWanted();
    void newChatWanted();
    void quitWanted();

  private:
    void update();

    Settings& m_settings;
    std::unique_ptr<QMenu> m_menu;
    std::unique_ptr<QSystemTrayIcon> m_icon;
};

}  // namespace hokku::desktop
