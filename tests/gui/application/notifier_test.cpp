// SPDX-License-Identifier: Apache-2.0
// Notifications over a session bus of their own, with a service made for the test.
#include "application/notifier.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QWidget>

#include "application/reply_watch.h"
#include "gui/application/app_fixture.h"
#include "gui/support/catch_qt.h"
#include "gui/support/session_bus.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// What a desktop's notification service gets and says.
class FakeService : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")

  public:
    struct Notification {
        uint replaces = 0;
        QString title, text;
        QStringList actions;
    };
    QVector<Notification> shown;
    QVector<uint> closed;

  public slots:
    uint Notify(const QString& app, uint replaces, const QString& icon, const QString& title,
                const QString& text, const QStringList& actions, const QVariantMap& hints,
                int expiry) {
        CHECK(app == QStringLiteral("Hokku"));
        CHECK(icon == QStringLiteral("org.hokku.Hokku"));
        CHECK(hints.value(QStringLiteral("desktop-entry")).toString() == icon);
        CHECK(expiry == -1);
        shown.append({replaces, title, text, actions});
        return 7;
    }
    void CloseNotification(uint id) { closed.append(id); }

  signals:
    void ActionInvoked(uint id, const QString& action);
    void NotificationClosed(uint id, uint reason);
};

struct Fixture {
    QApplication& app = application();
    QWidget window;
    FakeService service;
    Notifier notifier{window};
    QString busName = QStringLiteral("service");

    Fixture() {
        const SessionBus& bus = SessionBus::instance();
        REQUIRE_FALSE(bus.address().isEmpty());
        QDBusConnection own = QDBusConnection::connectToBus(bus.address(), busName);
        REQUIRE(own.registerService(QStringLiteral("org.freedesktop.Notifications")));
        REQUIRE(own.registerObject(
            QStringLiteral("/org/freedesktop/Notifications"), &service,
            QDBusConnection::ExportAllSlots | QDBusConnection::ExportAllSignals));
    }
    ~Fixture() {
        QDBusConnection(busName).unregisterService(QStringLiteral("org.freedesktop.Notifications"));
        QDBusConnection::disconnectFromBus(busName);
    }
};

}  // namespace

TEST_CASE("Notifier: tells the desktop, replaces, withdraws and hears the click", "[gui][quick]") {
    if (!has_bus_daemon()) return;
    Fixture f;
    QSignalSpy activated(&f.notifier, &Notifier::activated);
    f.notifier.tell(QStringLiteral("Done"), QStringLiteral("a <b> & c"));
    REQUIRE(QTest::qWaitFor([&] { return f.service.shown.size() == 1; }, kPatienceMs));
    CHECK(f.service.shown[0].replaces == 0);
    CHECK(f.service.shown[0].title == QStringLiteral("Done"));
    CHECK(f.service.shown[0].text == QStringLiteral("a &lt;b&gt; &amp; c"));
    REQUIRE(f.service.shown[0].actions.size() == 2);
    CHECK(f.service.shown[0].actions[0] == QStringLiteral("default"));
    QTest::qWait(50);  // for the answer
    f.notifier.tell(QStringLiteral("Done again"), {});
    REQUIRE(QTest::qWaitFor([&] { return f.service.shown.size() == 2; }, kPatienceMs));
    CHECK(f.service.shown[1].replaces == 7);
    QTest::qWait(50);
    emit f.service.ActionInvoked(6, QStringLiteral("default"));  // of another program
    emit f.service.ActionInvoked(7, QStringLiteral("default"));
    REQUIRE(activated.wait(kPatienceMs));
    CHECK(activated.size() == 1);
    f.notifier.withdraw();
    REQUIRE(QTest::qWaitFor([&] { return f.service.closed.size() == 1; }, kPatienceMs));
    CHECK(f.service.closed.first() == 7);
    f.notifier.withdraw();  // nothing is shown any more
    QTest::qWait(50);
    CHECK(f.service.closed.size() == 1);
}

TEST_CASE("Notifier: without a service the window asks for attention, and nothing fails",
          "[gui][quick]") {
    application();
    QWidget window;
    Notifier notifier(window);
    const QByteArray address = qgetenv("DBUS_SESSION_BUS_ADDRESS");
    for (const char* bad : {"tcp:host=127.0.0.1,port=1", "unix:path=/nowhere/bus"}) {
        qputenv("DBUS_SESSION_BUS_ADDRESS", bad);
        notifier.tell(QStringLiteral("Done"), {});
        notifier.withdraw();
    }
    qputenv("DBUS_SESSION_BUS_ADDRESS", address);
    SUCCEED("nothing crashed");
}

TEST_CASE("ReplyWatch: only long replies in the background are told, and only if wanted",
          "[gui][quick]") {
    if (!has_bus_daemon()) return;
    Fixture bus;
    AppFixture f;
    f.loadModel();
    Settings settings(f.folders.settingsFile);
    ChatSession session(*f.generator);
    ReplyWatch watch(session, settings, bus.notifier);
    bool isSeen = false;
    watch.setIsSeen([&] { return isSeen; });
    watch.setTitle(QStringLiteral("The sea"));
    session.open(*f.store, 0);
    const auto reply = [&] {
        QSignalSpy ended(&session, &ChatSession::replyEnded);
        session.send(QStringLiteral("Hello"));
        REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
        QTest::qWait(50);
    };
    reply();  // short
    CHECK(bus.service.shown.isEmpty());
    watch.setLeastMs(0);
    isSeen = true;
    reply();
    CHECK(bus.service.shown.isEmpty());
    isSeen = false;
    settings.setNotifyWhenDone(false);
    reply();
    CHECK(bus.service.shown.isEmpty());
    settings.setNotifyWhenDone(true);
    reply();
    REQUIRE(QTest::qWaitFor([&] { return bus.service.shown.size() == 1; }, kPatienceMs));
    CHECK(bus.service.shown[0].text == QStringLiteral("The sea"));
}

#include "notifier_test.moc"
