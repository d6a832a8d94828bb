// SPDX-License-Identifier: Apache-2.0
#include "application/notifier.h"

#include <QApplication>
#include <QPointer>
#include <QSystemTrayIcon>
#include <QWidget>
#ifdef HOKKU_HAS_DBUS
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>

#include "look/session_bus.h"
#endif

namespace hokku::desktop {

struct Notifier::Private {
    explicit Private(QWidget& theWindow) : window(theWindow) {}
    QWidget& window;
    QPointer<QSystemTrayIcon> tray;
    uint id = 0;  ///< Of the notification that is shown; 0: none.
    bool isConnected = false;
};

Notifier::Notifier(QWidget& window, QObject* parent)
    : QObject(parent), m_private(std::make_unique<Private>(window)) {}

Notifier::~Notifier() = default;

void Notifier::setTrayIcon(QSystemTrayIcon* icon) {
    m_private->tray = icon;
    if (icon != nullptr)
        connect(icon, &QSystemTrayIcon::messageClicked, this, &Notifier::activated);
}

void Notifier::tellWithoutService(const QString& title, const QString& text) {
    if (m_private->tray && m_private->tray->isVisible())
        return m_private->tray->showMessage(title, text, QApplication::windowIcon());
    QApplication::alert(&m_private->window);
}

void Notifier::takeAction(uint id, const QString&) {
    if (id == m_private->id && id != 0) emit activated();
}

void Notifier::takeClosed(uint id, uint) {
    if (id == m_private->id) m_private->id = 0;
}

#ifdef HOKKU_HAS_DBUS

// Source : Desktop Notifications Specification 1.2, org.freedesktop.Notifications.
namespace {

const QString kService = QStringLiteral("org.freedesktop.Notifications"),
              kPath = QStringLiteral("/org/freedesktop/Notifications");

QDBusMessage call(const char* method) {
    return QDBusMessage::createMethodCall(kService, kPath, kService, QLatin1String(method));
}

/// Texts of people and models are no markup.
QString escaped(const QString& text) {
    return text.toHtmlEscaped();
}

}  // namespace

void Notifier::tell(const QString& title, const QString& text) {
    if (!hasLocalBus()) return tellWithoutService(title, text);
    QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.isConnected()) return tellWithoutService(title, text);
    if (!std::exchange(m_private->isConnected, true)) {
        bus.connect(kService, kPath, kService, QStringLiteral("ActionInvoked"), this,
                    SLOT(takeAction(uint, QString)));
        bus.connect(kService, kPath, kService, QStringLiteral("NotificationClosed"), this,
                    SLOT(takeClosed(uint, uint)));
    }
    QDBusMessage message = call("Notify");
    const QVariantMap hints{{QStringLiteral("desktop-entry"), QStringLiteral("org.hokku.Hokku")}};
    constexpr int kDefaultExpiry = -1;
    message.setArguments({QStringLiteral("Hokku"), m_private->id, QStringLiteral("org.hokku.Hokku"),
                          title, escaped(text), QStringList{QStringLiteral("default"), tr("Show")},
                          hints, kDefaultExpiry});
    auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(message), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this, watcher, title, text] {
        watcher->deleteLater();
        const QDBusPendingReply<uint> reply = *watcher;
        if (reply.isError()) return tellWithoutService(title, text);
        m_private->id = reply.value();
    });
}

void Notifier::withdraw() {
    if (m_private->id == 0) return;
    QDBusMessage message = call("CloseNotification");
    message.setArguments({std::exchange(m_private->id, 0)});
    QDBusConnection::sessionBus().asyncCall(message);
}

#else

void Notifier::tell(const QString& title, const QString& text) {
    tellWithoutService(title, text);
}

void Notifier::withdraw() {}

#endif

}  // namespace hokku::desktop
