// SPDX-License-Identifier: Apache-2.0
#include "application/tray.h"

#include <QApplication>
#include <QMenu>
#include <QSystemTrayIcon>

namespace hokku::desktop {

Tray::Tray(Settings& settings, QObject* parent) : QObject(parent), m_settings(settings) {
    connect(&settings, &Settings::changed, this, &Tray::update);
    update();
}

Tray::~Tray() = default;

bool Tray::isShown() const {
    return m_icon != nullptr && QSystemTrayIcon::isSystemTrayAvailable();
}

void Tray::update() {
    const bool isWanted = m_settings.trayIcon();
    if (isWanted == (m_icon != nullptr)) return;
    if (isWanted) {
        m_menu = std::make_unique<QMenu>();
        m_icon = std::make_unique<QSystemTrayIcon>(QApplication::windowIcon());
        m_icon->setContextMenu(m_menu.get());
        connect(m_icon.get(), &QSystemTrayIcon::activated, this,
                [this](QSystemTrayIcon::ActivationReason reason) {
                    if (reason == QSystemTrayIcon::Trigger) emit showWanted();
                });
        retranslate();
        m_icon->show();
    } else {
        m_icon.reset();
        m_menu.reset();
    }
    emit changed();
}

void Tray::retranslate() {
    if (!m_icon) return;
    m_icon->setToolTip(QStringLiteral("Hokku"));
    m_menu->clear();
    connect(m_menu->addAction(tr("Show Hokku")), &QAction::triggered, this, &Tray::showWanted);
    connect(m_menu->addAction(tr("New chat")), &QAction::triggered, this, &Tray::newChatWanted);
    m_menu->addSeparator();
    connect(m_menu->addAction(tr("Quit")), &QAction::triggered, this, &Tray::quitWanted);
}

}  // namespace hokku::desktop
