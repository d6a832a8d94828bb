// SPDX-License-Identifier: Apache-2.0
#include "look/system_theme.h"

#include <QCoreApplication>
#include <QEvent>
#include <QEventLoop>
#include <QTimer>

#include "look/session_bus.h"
#ifdef HOKKU_HAS_DBUS
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>
#endif

namespace hokku::desktop {

#ifdef HOKKU_HAS_DBUS

// Source : XDG Desktop Portal, org.freedesktop.portal.Settings.
namespace {

const QString kService = QStringLiteral("org.freedesktop.portal.Desktop"),
              kPath = QStringLiteral("/org/freedesktop/portal/desktop"),
              kInterface = QStringLiteral("org.freedesktop.portal.Settings"),
              kNamespace = QStringLiteral("org.freedesktop.appearance"),
              kScheme = QStringLiteral("color-scheme");

/// Read() gives a variant in a variant.
uint schemeIn(QVariant value) {
    while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
    return value.toUInt();
}

/// Hears what changes.
class Portal : public QObject {
    Q_OBJECT

  public:
    Portal(QDBusConnection& bus, std::function<void(uint)> take, QObject* parent)
        : QObject(parent), m_take(std::move(take)) {
        // Without this Qt connects only where the type was used before.
        qRegisterMetaType<QDBusVariant>();
        bus.connect(kService, kPath, kInterface, QStringLiteral("SettingChanged"), this,
                    SLOT(takeSetting(QString, QString, QDBusVariant)));
    }

  public slots:
    void takeSetting(const QString& space, const QString& key, const QDBusVariant& value) {
        if (space == kNamespace && key == kScheme) m_take(schemeIn(value.variant()));
    }

  private:
    std::function<void(uint)> m_take;
};

}  // namespace

void SystemTheme::askPortal() {
    if (!hasLocalBus()) return;
    QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.isConnected()) return;
    new Portal(
        bus, [this](uint scheme) { takeScheme(scheme); }, this);
    QDBusMessage message =
        QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
    message.setArguments({kNamespace, kScheme});
    m_isAsking = true;
    auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(message), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this, watcher] {
        watcher->deleteLater();
        m_isAsking = false;
        const QDBusPendingReply<QDBusVariant> reply = *watcher;
        if (!reply.isError()) takeScheme(schemeIn(reply.value().variant()));
        emit portalAnswered();
    });
}

#else

void SystemTheme::askPortal() {}

#endif

bool isDark(const QPalette& palette) {
    return palette.color(QPalette::WindowText).lightness() >
           palette.color(QPalette::Window).lightness();
}

SystemTheme::SystemTheme(PaletteSource palette, QObject* parent)
    : QObject(parent), m_palette(std::move(palette)) {
    readPalette();
    QCoreApplication::instance()->installEventFilter(this);
    askPortal();
}

void SystemTheme::waitForPortal(int milliseconds) {
    if (!m_isAsking) return;
    QEventLoop loop;
    connect(this, &SystemTheme::portalAnswered, &loop, &QEventLoop::quit);
    QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
    loop.exec(QEventLoop::ExcludeUserInputEvents);
}

bool SystemTheme::eventFilter(QObject* watched, QEvent* event) {
    // Each window is told; the palette is read when all are.
    if (event->type() == QEvent::ThemeChange && watched->isWindowType())
        QMetaObject::invokeMethod(this, &SystemTheme::readPalette, Qt::QueuedConnection);
    return QObject::eventFilter(watched, event);
}

void SystemTheme::takeScheme(uint scheme) {
    constexpr uint kDark = 1, kLight = 2;
    update([&] {
        m_portalSaysDark.reset();
        if (scheme == kDark || scheme == kLight) m_portalSaysDark = scheme == kDark;
    });
}

void SystemTheme::readPalette() {
    update([this] { m_paletteIsDark = desktop::isDark(m_palette()); });
}

void SystemTheme::update(const std::function<void()>& change) {
    const bool wasDark = isDark();
    change();
    if (isDark() != wasDark) emit changed();
}

}  // namespace hokku::desktop

#ifdef HOKKU_HAS_DBUS
#include "system_theme.moc"
#endif
