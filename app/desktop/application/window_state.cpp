// SPDX-License-Identifier: Apache-2.0
#include "application/window_state.h"

#include <QEvent>
#include <QSplitter>
#include <QWidget>

namespace hokku::desktop {
namespace {

/// After the last change.
constexpr int kSaveDelayMs = 500;
const QString kGeometry = QStringLiteral("window/geometry"),
              kSplitter = QStringLiteral("window/splitter"),
              kSidebar = QStringLiteral("window/sidebar");

}  // namespace

WindowState::WindowState(QWidget& window, QSplitter& splitter, QWidget& sidebar, Settings& settings)
    : m_window(window), m_splitter(splitter), m_sidebar(sidebar), m_settings(settings) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(kSaveDelayMs);
    connect(&m_timer, &QTimer::timeout, this, &WindowState::save);
    connect(&splitter, &QSplitter::splitterMoved, &m_timer, qOverload<>(&QTimer::start));
    window.installEventFilter(this);
}

void WindowState::restore() {
    m_window.restoreGeometry(m_settings.value(kGeometry).toByteArray());
    m_splitter.restoreState(m_settings.value(kSplitter).toByteArray());
    m_sidebar.setVisible(isSidebarShown());
}

void WindowState::save() {
    m_timer.stop();
    m_settings.setValue(kGeometry, m_window.saveGeometry());
    // Hidden or above the rest, it has no width to be remembered.
    const bool isBeside = m_splitter.indexOf(&m_sidebar) >= 0 && m_sidebar.isVisibleTo(&m_window);
    if (isBeside) m_settings.setValue(kSplitter, m_splitter.saveState());
}

void WindowState::setSidebarShown(bool isShown) {
    m_sidebar.setVisible(isShown);
    m_settings.setValue(kSidebar, isShown);
}

bool WindowState::isSidebarShown() const {
    return m_settings.value(kSidebar, true).toBool();
}

bool WindowState::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::Move ||
        event->type() == QEvent::WindowStateChange)
        if (m_window.isVisible()) m_timer.start();
    return QObject::eventFilter(watched, event);
}

}  // namespace hokku::desktop
