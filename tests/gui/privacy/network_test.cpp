// SPDX-License-Identifier: Apache-2.0
// "Nothing leaves this machine", seen from outside of the program: every socket of whole sessions.
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "gui/privacy/network_trace.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "support/golden.h"

using namespace hokku::testing;

namespace {

QString programPath(const char* name) {
    return QString::fromStdString((binary_folder() / "bin" / name).string());
}

/// A home of its own with the starter model in it.
struct Home {
    QTemporaryDir folder;
    explicit Home(const std::filesystem::path& model) {
        REQUIRE(QDir(folder.path()).mkpath(QStringLiteral("models")));
        REQUIRE(QFile::link(QString::fromStdString(model.string()),
                            folder.filePath(QStringLiteral("models/") +
                                            QString::fromStdString(model.filename().string()))));
    }
    [[nodiscard]] QString variable() const { return QStringLiteral("HOKKU_HOME=") + folder.path(); }
};

/// A program that serves others until the end of the test, and says in a line how to reach it.
class Server {
  public:
    Server(const char* program, const QStringList& arguments) {
        m_process.start(QLatin1String(program), arguments);
        constexpr int kPatienceMs = 30'000;
        if (m_process.waitForReadyRead(kPatienceMs))
            m_address = QString::fromUtf8(m_process.readLine()).trimmed();
    }
    ~Server() {
        m_process.terminate();
        m_process.waitForFinished();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    [[nodiscard]] const QString& address() const { return m_address; }

  private:
    QProcess m_process;
    QString m_address;
};

/// Runs a session and looks at its sockets.
void checkSession(const QStringList& command, const QStringList& environment,
                  const char* expectedOutput) {
    const TracedRun run = runTraced(command, environment);
    if (!run.isTraced)
        return report_skip("hardware: programs cannot be traced here: " + run.output.toStdString());
    INFO(run.output.toStdString());
    CHECK(run.status == 0);
    CHECK(run.output.contains(QLatin1String(expectedOutput)));
    // The trace is that of the whole: the model was opened in it, and its end is there.
    CHECK(run.trace.contains("SmolLM2"));
    CHECK(run.trace.contains("chats.sqlite"));
    CHECK(beyondThisMachine(run.trace) == QStringList());
}

}  // namespace

TEST_CASE("Network trace: tells local sockets from all others", "[gui][quick]") {
    CHECK(beyondThisMachine(
              "12 socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3\n"
              "12 connect(3, {sa_family=AF_UNIX, sun_path=@\"/tmp/.X11-unix/X99\"}, 21) = 0\n"
              "12 socketpair(AF_UNIX, SOCK_STREAM, 0, [4, 5]) = 0\n"
              "12 recvmsg(3, {msg_name={sa_family=AF_UNIX}, msg_iov=[]}, 0) = 8\n"
              "12 openat(AT_FDCWD, \"/etc/fonts/fonts.conf\", O_RDONLY) = 7\n")
              .isEmpty());
    for (const char* line :
         {"12 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3",
          "12 socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP) = -1 EAFNOSUPPORT",
          "12 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 3",
          "12 socket(0x10 /* AF_??? */, SOCK_RAW, 0) = 3",
          "12 connect(3, {sa_family=AF_INET, sin_port=htons(53)}, 16) = 0",
          "12 sendto(3, \"\", 0, 0, {sa_family=AF_INET6, sin6_port=htons(443)}, 28) = 0",
          "12 openat(AT_FDCWD, \"/etc/resolv.conf\", O_RDONLY|O_CLOEXEC) = -1 ENOENT",
          "12 openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libnss_dns.so.2\", O_RDONLY) = 3"}) {
        INFO(line);
        CHECK(beyondThisMachine(QByteArray(line) + "\n").size() == 1);
    }
}

TEST_CASE("Network trace: a program that looks for a name is found out", "[gui]") {
    application();
    const TracedRun run = runTraced(
        {QStringLiteral("python3"), QStringLiteral("-c"),
         QStringLiteral("import socket, threading\n"
                        "t = threading.Thread(target=lambda: socket.socket(socket.AF_INET))\n"
                        "t.start(); t.join()\n"
                        "try: socket.getaddrinfo('hokku.invalid', 80)\n"
                        "except OSError: pass\n")},
        {});
    if (!run.isTraced)
        return report_skip("hardware: programs cannot be traced here: " + run.output.toStdString());
    CHECK(run.status == 0);
    const QString found = beyondThisMachine(run.trace).join(QLatin1Char('\n'));
    CHECK(found.contains(QStringLiteral("AF_INET")));
    CHECK(found.contains(QStringLiteral("/etc/")));
}

TEST_CASE("The app: its self test opens nothing but local sockets", "[gui][model]") {
    application();
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    const Home home(*model);
    checkSession({programPath("hokku-desktop"), QStringLiteral("--selftest")},
                 {home.variable(), QStringLiteral("QT_QPA_PLATFORM=offscreen")},
                 "selftest: passed");
}

TEST_CASE("The app: on a screen with a session bus it opens nothing but local sockets",
          "[gui][model]") {
    application();
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    const Home home(*model);
    const Server screen("Xvfb", {QStringLiteral("-displayfd"), QStringLiteral("1"),
                                 QStringLiteral("-nolisten"), QStringLiteral("tcp")});
    if (screen.address().isEmpty()) return report_skip("Xvfb is not there");
    const Server bus("dbus-daemon", {QStringLiteral("--session"), QStringLiteral("--nofork"),
                                     QStringLiteral("--print-address=1")});
    if (bus.address().isEmpty()) return report_skip("dbus-daemon is not there");
    checkSession({programPath("hokku-desktop"), QStringLiteral("--selftest")},
                 {home.variable(), QStringLiteral("DISPLAY=:") + screen.address(),
                  QStringLiteral("DBUS_SESSION_BUS_ADDRESS=") + bus.address(),
                  QStringLiteral("QT_QPA_PLATFORM=xcb")},
                 "selftest: passed");
}

TEST_CASE("The app: a whole session of a person opens nothing but local sockets", "[gui][model]") {
    application();
    if (!find_model("smollm2")) return report_skip("the starter model is not there");
    checkSession({programPath("test_desktop_end_to_end"), QStringLiteral("*a whole session*")},
                 {QStringLiteral("QT_QPA_PLATFORM=offscreen")}, "All tests passed");
}
