// SPDX-License-Identifier: Apache-2.0
// The program as it is started: with a file, a second time, and where nothing can be written.
#include <QFile>
#include <QProcess>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include "conversations/chat_store.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "support/golden.h"

using namespace hokku::testing;

namespace {

constexpr int kPatienceMs = 180'000;

QString program() {
    return QString::fromStdString((binary_folder() / "bin" / "hokku-desktop").string());
}

struct Ended {
    int status = -1;
    QString output;
};

/// A folder for the app, and a way to start it there.
class Home {
  public:
    Home() {
        application();
        m_variables = QProcessEnvironment::systemEnvironment();
        m_variables.insert(QStringLiteral("HOKKU_HOME"), path());
        m_variables.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
    }
    [[nodiscard]] QString path() const { return m_folder.filePath(QStringLiteral("home")); }
    /// Makes the folder, with a link to the model in its library.
    void addStarter(const std::filesystem::path& model) const {
        const QString name = QString::fromStdString(model.filename().string());
        REQUIRE(QDir().mkpath(path() + QStringLiteral("/models")));
        REQUIRE(QFile::link(QString::fromStdString(model.string()),
                            path() + QStringLiteral("/models/") + name));
    }
    QProcessEnvironment& variables() { return m_variables; }
    void start(QProcess& process, const QStringList& command) const {
        process.setProcessEnvironment(m_variables);
        process.setProcessChannelMode(QProcess::MergedChannels);
        process.start(command.first(), command.mid(1));
    }
    [[nodiscard]] Ended run(const QStringList& command) const {
        QProcess process;
        start(process, command);
        Ended ended;
        if (process.waitForFinished(kPatienceMs) && process.exitStatus() == QProcess::NormalExit)
            ended.status = process.exitCode();
        process.kill();
        process.waitForFinished();
        ended.output = QString::fromUtf8(process.readAll());
        return ended;
    }
    [[nodiscard]] QStringList addedModels() const {
        return QSettings(path() + QStringLiteral("/hokku.ini"), QSettings::IniFormat)
            .value(QStringLiteral("models/added"))
            .toStringList();
    }
    [[nodiscard]] QVector<hokku::desktop::ChatRecord> chats() const {
        const auto store =
            hokku::desktop::ChatStore::open(path() + QStringLiteral("/chats.sqlite"));
        REQUIRE(store.ok());
        const auto chats = (*store)->chats();
        REQUIRE(chats.ok());
        return *chats;
    }

  private:
    QTemporaryDir m_folder;
    QProcessEnvironment m_variables;
};

/// The command in a name space of its own, where `mount` has been run first.
QStringList mounted(const QString& mount, const QStringList& command) {
    return QStringList{QStringLiteral("unshare"), QStringLiteral("-Urm"), QStringLiteral("sh"),
                       QStringLiteral("-c"), mount + QStringLiteral(" && exec \"$0\" \"$@\"")} +
           command;
}

/// The same model with another name, outside of every library.
QString elsewhere(const QTemporaryDir& folder, const std::filesystem::path& model) {
    const QString path = folder.filePath(QStringLiteral("mein Modell ä.gguf"));
    REQUIRE(QFile::link(QString::fromStdString(model.string()), path));
    return path;
}

}  // namespace

TEST_CASE("hokku-desktop: says nothing of Qt's own, but what is wrong", "[gui][quick]") {
    Home home;
    home.variables().remove(QStringLiteral("XDG_RUNTIME_DIR"));
    const Ended quiet = home.run({program(), QStringLiteral("--version")});
    CHECK(quiet.status == 0);
    CHECK(quiet.output.startsWith(QStringLiteral("Hokku ")));
    CHECK(quiet.output.count(QLatin1Char('\n')) == 1);
    home.variables().insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("nonsense"));
    const Ended broken = home.run({program(), QStringLiteral("--selftest")});
    CHECK(broken.status != 0);
    CHECK(broken.output.contains(QStringLiteral("nonsense")));
    // What is text alone needs no screen.
    CHECK(home.run({program(), QStringLiteral("--version")}).output == quiet.output);
    const Ended help = home.run({program(), QStringLiteral("--help")});
    CHECK(help.status == 0);
    CHECK(help.output.contains(QStringLiteral("--portable")));
}

TEST_CASE("hokku-desktop: opens the file that it is given, and says why it cannot",
          "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    const Home home;
    const QTemporaryDir folder;
    const QString path = elsewhere(folder, *model);
    const Ended good = home.run({program(), QStringLiteral("--selftest"), path});
    INFO(good.output.toStdString());
    CHECK(good.status == 0);
    CHECK(home.addedModels() == QStringList{path});
    CHECK(home.chats().empty());

    const QString broken = folder.filePath(QStringLiteral("broken.gguf"));
    {
        QFile file(broken);
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write("GGUF and then nothing");
    }
    const Ended bad = home.run({program(), QStringLiteral("--selftest"), broken});
    CHECK(bad.status == 1);
    CHECK(bad.output.contains(QStringLiteral("broken.gguf")));
}

TEST_CASE("hokku-desktop: a second start hands its file to the first and ends", "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    const Home home;
    home.addStarter(*model);
    const QTemporaryDir folder;
    const QString path = elsewhere(folder, *model);
    QProcess first;
    home.start(first, {program()});
    REQUIRE(first.waitForStarted(kPatienceMs));
    QTest::qWait(300);  // it has the lock by now, and is busy with its window
    const Ended second = home.run({program(), path});
    CHECK(second.status == 0);
    CHECK(QTest::qWaitFor([&] { return home.addedModels() == QStringList{path}; }, kPatienceMs));
    CHECK(first.state() == QProcess::Running);
    first.terminate();
    first.waitForFinished(kPatienceMs);
}

TEST_CASE("hokku-desktop: works where nothing can be written", "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    const Home home;
    home.addStarter(*model);
    const QString folder = QLatin1Char('"') + home.path() + QLatin1Char('"');
    if (home.run(mounted(QStringLiteral("mount -t tmpfs none /mnt"), {QStringLiteral("true")}))
            .status != 0)
        return report_skip("hardware: this machine lets nobody mount file systems");
    const QStringList selfTest{program(), QStringLiteral("--selftest")};
    // Something to read: a conversation of a session before.
    REQUIRE(home.run(selfTest).status == 0);
    SECTION("in a read-only folder") {
        const Ended ended = home.run(mounted(
            QStringLiteral("mount --bind -o ro %1 %1 && ! touch %1/x").arg(folder), selfTest));
        INFO(ended.output.toStdString());
        CHECK(ended.status == 0);
    }
    SECTION("on a full disk") {
        const Ended ended = home.run(mounted(
            QStringLiteral("cp -a %1 /dev/shm/hokku-$$ && mount -t tmpfs -o size=1m none %1 && "
                           "cp -a /dev/shm/hokku-$$/. %1 && rm -r /dev/shm/hokku-$$ && "
                           "{ cat /dev/zero > %1/fill; test -s %1/fill; }")
                .arg(folder),
            selfTest));
        INFO(ended.output.toStdString());
        CHECK(ended.status == 0);
    }
}

TEST_CASE("hokku-desktop: --portable keeps all beside the program, or says that it cannot",
          "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    const Home home;
    const QTemporaryDir folder;
    const QString copy = folder.filePath(QStringLiteral("hokku-desktop"));
    const QString data = folder.filePath(QStringLiteral("hokku-data"));
    REQUIRE(QFile::copy(program(), copy));
    const QStringList selfTest{copy, QStringLiteral("--portable"), QStringLiteral("--selftest")};
    {
        QFile blocker(data);  // as good as a folder that cannot be written, also for root
        REQUIRE(blocker.open(QIODevice::WriteOnly));
    }
    const Ended refused = home.run(selfTest);
    CHECK(refused.status == 1);
    CHECK(refused.output.contains(data));
    CHECK(refused.output.contains(QStringLiteral("--portable")));
    REQUIRE(QFile::remove(data));
    REQUIRE(QDir().mkpath(data + QStringLiteral("/models")));
    REQUIRE(QFile::link(
        QString::fromStdString(model->string()),
        data + QStringLiteral("/models/") + QString::fromStdString(model->filename().string())));
    const Ended good = home.run(selfTest);
    INFO(good.output.toStdString());
    CHECK(good.status == 0);
    CHECK(QFile::exists(data + QStringLiteral("/chats.sqlite")));
    CHECK(QFile::exists(data + QStringLiteral("/hokku.ini")));
    CHECK_FALSE(QFile::exists(home.path()));
}
