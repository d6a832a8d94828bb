// SPDX-License-Identifier: Apache-2.0
// The theme of the desktop over a session bus of its own, with a portal made for the test.
#include "look/system_theme.h"

#include <QDBusConnection>
#include <QDBusVariant>
#include <QSignalSpy>
#include <QTest>
#include <QWindow>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "gui/support/session_bus.h"
#include "look/theme.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

constexpr int kPatienceMs = 10'000;

class FakePortal : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.portal.Settings")

  public:
    uint scheme = 0;
    QStringList asked;

  public slots:
    QDBusVariant Read(const QString& space, const QString& key) {
        asked.append(space + QLatin1Char(' ') + key);
        return QDBusVariant(QVariant::fromValue(QDBusVariant(scheme)));
    }

  signals:
    void SettingChanged(const QString& space, const QString& key, const QDBusVariant& value);
};

struct Fixture {
    QApplication& app = application();
    FakePortal portal;
    QString busName = QStringLiteral("portal"),
            service = QStringLiteral("org.freedesktop.portal.Desktop");
    QPalette palette = light();

    Fixture() {
        const SessionBus& bus = SessionBus::instance();
        REQUIRE_FALSE(bus.address().isEmpty());
        QDBusConnection own = QDBusConnection::connectToBus(bus.address(), busName);
        REQUIRE(own.registerObject(
            QStringLiteral("/org/freedesktop/portal/desktop"), &portal,
            QDBusConnection::ExportAllSlots | QDBusConnection::ExportAllSignals));
    }
    ~Fixture() { QDBusConnection::disconnectFromBus(busName); }
    void serve() { REQUIRE(QDBusConnection(busName).registerService(service)); }
    void change(const char* space, const char* key, uint value) {
        emit portal.SettingChanged(QLatin1String(space), QLatin1String(key), QDBusVariant(value));
    }
    SystemTheme::PaletteSource source() {
        return [this] { return palette; };
    }
    static QPalette light() { return QPalette(Qt::black, Qt::white); }
    static QPalette dark() {
        QPalette palette;
        palette.setColor(QPalette::WindowText, Qt::white);
        palette.setColor(QPalette::Window, Qt::black);
        return palette;
    }
};

constexpr char kAppearance[] = "org.freedesktop.appearance", kScheme[] = "color-scheme";

}  // namespace

TEST_CASE("SystemTheme: what the portal says goes before the palette, also later", "[gui][quick]") {
    if (!has_bus_daemon()) return;
    Fixture f;
    f.portal.scheme = 1;
    f.serve();
    SystemTheme theme(f.source());
    CHECK_FALSE(theme.isDark());  // it has not answered yet
    QSignalSpy changed(&theme, &SystemTheme::changed);
    theme.waitForPortal(kPatienceMs);
    CHECK(theme.isDark());
    CHECK(f.portal.asked == QStringList{QStringLiteral("org.freedesktop.appearance color-scheme")});
    CHECK(changed.size() == 1);
    f.change(kAppearance, "accent-color", 2);  // others are none of ours
    f.change("org.gnome.desktop", kScheme, 2);
    f.change(kAppearance, kScheme, 1);  // as it was
    f.change(kAppearance, kScheme, 2);
    REQUIRE(QTest::qWaitFor([&] { return changed.size() == 2; }, kPatienceMs));
    CHECK_FALSE(theme.isDark());
    // Without a preference the palette tells.
    f.palette = Fixture::dark();
    QWindow window;
    QEvent themeChange(QEvent::ThemeChange);
    QCoreApplication::sendEvent(&window, &themeChange);
    QTest::qWait(20);
    CHECK_FALSE(theme.isDark());
    f.change(kAppearance, kScheme, 0);
    REQUIRE(QTest::qWaitFor([&] { return changed.size() == 3; }, kPatienceMs));
    CHECK(theme.isDark());
}

TEST_CASE("SystemTheme: without a portal the palette tells, and is followed", "[gui][quick]") {
    if (!has_bus_daemon()) return;
    Fixture f;
    f.palette = Fixture::dark();
    SystemTheme theme(f.source());
    theme.waitForPortal(kPatienceMs);
    CHECK(theme.isDark());
    QSignalSpy changed(&theme, &SystemTheme::changed);
    f.palette = Fixture::light();
    QWindow window;
    QEvent themeChange(QEvent::ThemeChange);
    QCoreApplication::sendEvent(&window, &themeChange);
    REQUIRE(changed.wait(kPatienceMs));
    CHECK_FALSE(theme.isDark());
}

TEST_CASE("Theme: follows the system while that is chosen, and only then", "[gui][quick]") {
    if (!has_bus_daemon()) return;
    Fixture f;
    f.serve();
    Theme& theme = Theme::instance();
    theme.followSystem();
    theme.apply(ThemeChoice::system, 110);
    CHECK_FALSE(theme.isDark());
    const QFont font = theme.textFont();
    QSignalSpy changed(&theme, &Theme::changed);
    f.change(kAppearance, kScheme, 1);
    REQUIRE(QTest::qWaitFor([&] { return theme.isDark(); }, kPatienceMs));
    CHECK(changed.size() == 1);
    CHECK(theme.textFont() == font);
    CHECK(QGuiApplication::palette().color(QPalette::Window) == theme.colors().ground);
    theme.apply(ThemeChoice::dark, 100);
    changed.clear();
    f.change(kAppearance, kScheme, 2);
    QTest::qWait(100);
    CHECK(theme.isDark());
    CHECK(changed.isEmpty());
    theme.apply(ThemeChoice::system, 100);
    CHECK_FALSE(theme.isDark());
}

#include "system_theme_test.moc"
