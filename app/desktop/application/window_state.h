// SPDX-License-Identifier: Apache-2.0
// WindowState: where the window and the border of its sidebar were, kept as they change and not
// only at the end.
#pragma once

#include <QObject>
#include <QTimer>

#include "settings/settings.h"

class QSplitter;
class QWidget;

namespace hokku::desktop {

/// Threads: the UI thread. All that it is given must outlive it.
class WindowState : public QObject {
    Q_OBJECT

  public:
    WindowState(QWidget& window, QSplitter& splitter, QWidget& sidebar, Settings& settings);
    void restore();
    void save();
    /// The person has shown or hidden the sidebar.
    void setSidebarShown(bool isShown);
    [[nodiscard]] bool isSidebarShown() const;

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    QWidget& m_window;
    QSplitter& m_splitter;
    QWidget& m_sidebar;
    Settings& m_settings;
    QTimer m_timer;
};

}  // namespace hokku::desktop
