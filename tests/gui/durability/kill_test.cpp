// SPDX-License-Identifier: Apache-2.0
// Kills the app at random moments while it writes, and looks at what its database then holds.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QFile>
#include <QTemporaryDir>
#include <csignal>
#include <map>
#include <random>

#include "conversations/chat_store.h"
#include "conversations/database.h"
#include "gui/durability/kill_report.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

extern char** environ;

namespace {

constexpr int kRounds = 50;
constexpr int kChatFiles = 5;  ///< So that some rounds begin with no database.
constexpr unsigned kSeed = 20261;
/// What streamed text may be behind at most.
constexpr long long kMostBehindMs = 1000;

/// streaming_app, and what it says.
class App {
  public:
    App(const QString& home, unsigned seed, const std::string& prefix) {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        constexpr int kPipeBytes = 1 << 20;
        fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
        const std::string program = (binary_folder() / "bin" / "streaming_app").string();
        std::string seedText = std::to_string(seed), prefixText = prefix, name = program;
        char* argv[] = {name.data(), seedText.data(), prefixText.data(), nullptr};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        qputenv("HOKKU_HOME", home.toUtf8());
        REQUIRE(posix_spawn(&m_pid, program.c_str(), &actions, nullptr, argv, environ) == 0);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        m_pipe = ends[0];
    }
    ~App() {
        kill();
        close(m_pipe);
    }
    App(const App&) = delete;
    App& operator=(const App&) = delete;

    /// Waits until the time is over or the app has stored so many messages of a person.
    void wait(long long ms, int mostStored) {
        const long long end = monotonicMs() + ms;
        while (m_numStored < mostStored && m_isOpen) {
            const long long left = end - monotonicMs();
            if (left <= 0) return;
            pollfd ready{m_pipe, POLLIN, 0};
            if (poll(&ready, 1, static_cast<int>(left)) > 0) readSome();
        }
    }
    void kill() {
        if (m_pid == 0) return;
        m_written = bytesWritten();
        m_killedAt = monotonicMs();
        ::kill(m_pid, SIGKILL);
        int status = 0;
        waitpid(m_pid, &status, 0);
        m_wasKilled = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        m_pid = 0;
        while (m_isOpen) readSome();
    }
    [[nodiscard]] bool wasKilled() const { return m_wasKilled; }
    [[nodiscard]] long long killedAt() const { return m_killedAt; }
    [[nodiscard]] qint64 written() const { return m_written; }
    [[nodiscard]] const std::string& said() const { return m_said; }

  private:
    void readSome() {
        char buffer[4096];
        const ssize_t got = read(m_pipe, buffer, sizeof buffer);
        if (got <= 0) {
            m_isOpen = false;
            return;
        }
        for (const char c : std::string_view(buffer, static_cast<size_t>(got))) {
            if ((m_said.empty() || m_said.back() == '\n') && c == kStoredLine) ++m_numStored;
            m_said += c;
        }
    }
    [[nodiscard]] qint64 bytesWritten() const {
        QFile io(QStringLiteral("/proc/%1/io").arg(m_pid));
        if (!io.open(QIODevice::ReadOnly)) return 0;
        for (const QByteArray& line : io.readAll().split('\n'))
            if (line.startsWith("wchar: ")) return line.mid(7).toLongLong();
        return 0;
    }

    pid_t m_pid = 0;
    int m_pipe = -1, m_numStored = 0;
    bool m_isOpen = true, m_wasKilled = false;
    long long m_killedAt = 0;
    qint64 m_written = 0;
    std::string m_said;
};

/// What one run said about its messages.
struct Report {
    struct Shown {
        qsizetype length;
        long long atMs;
    };
    std::map<MessageId, QString> stored;
    std::map<MessageId, QVector<Shown>> shown;
    qsizetype numShown = 0;  ///< UTF-16 units.
};

Report read(const std::string& said) {
    Report report;
    for (const QString& line : QString::fromStdString(said).split(QLatin1Char('\n'))) {
        const QStringList words = line.split(QLatin1Char(' '));
        if (line.startsWith(QLatin1Char(kStoredLine)) && words.size() >= 3) {
            report.stored[words[1].toLongLong()] = QStringList(words.mid(2)).join(QLatin1Char(' '));
        } else if (line.startsWith(QLatin1Char(kShownLine)) && words.size() == 4) {
            QVector<Report::Shown>& shown = report.shown[words[1].toLongLong()];
            const qsizetype length = words[2].toLongLong();
            report.numShown += length - (shown.isEmpty() ? 0 : shown.last().length);
            shown.append({length, words[3].toLongLong()});
        }
    }
    return report;
}

/// The database's own checks: its pages, its references and its search index.
void checkIntegrity(const QString& path) {
    const auto database = Database::open(path, Database::Access::readWrite);
    REQUIRE(database.ok());
    auto rows = (*database)->run(QStringLiteral("PRAGMA integrity_check"));
    REQUIRE(rows.ok());
    REQUIRE(rows->next());
    CHECK(rows->value(0).toString() == QStringLiteral("ok"));
    auto broken = (*database)->run(QStringLiteral("PRAGMA foreign_key_check"));
    REQUIRE(broken.ok());
    CHECK_FALSE(broken->next());
    for (const QString& table : {QStringLiteral("message_search"), QStringLiteral("title_search")})
        CHECK((*database)
                  ->run(QStringLiteral("INSERT INTO %1(%1, rank) VALUES('integrity-check', 1)")
                            .arg(table))
                  .ok());
}

struct Stored {
    std::map<MessageId, MessageRecord> messages;
    std::map<ChatId, ChatRecord> chats;
};

Stored readStore(const QString& path) {
    const auto store = ChatStore::open(path);
    REQUIRE(store.ok());
    CHECK_FALSE((*store)->notice());
    const auto chats = (*store)->chats();
    REQUIRE(chats.ok());
    Stored stored;
    for (const ChatRecord& chat : *chats) {
        stored.chats[chat.id] = chat;
        const auto messages = (*store)->messages(chat.id);
        REQUIRE(messages.ok());
        for (const MessageRecord& message : *messages) stored.messages[message.id] = message;
    }
    return stored;
}

/// What a round that was just killed has left.
void checkRound(const Report& report, const Stored& stored, long long killedAt) {
    const QString whole = QString::fromStdString(replyText(5000));
    for (const auto& [id, text] : report.stored) {
        INFO("message " << id << " " << text.toStdString());
        REQUIRE(stored.messages.count(id) == 1);
        CHECK(stored.messages.at(id).content == text);
    }
    for (const auto& [id, shown] : report.shown) {
        INFO("reply " << id << ", " << shown.last().length << " shown");
        REQUIRE(stored.messages.count(id) == 1);
        const MessageRecord& reply = stored.messages.at(id);
        qsizetype mustBeThere = 0;
        for (const Report::Shown& step : shown)
            if (step.atMs < killedAt - kMostBehindMs) mustBeThere = step.length;
        CHECK(reply.content.size() >= mustBeThere);
        INFO(reply.content.toStdString());
        CHECK(whole.startsWith(reply.content));
        // A part of a reply is never taken for the whole.
        if (reply.content.size() < shown.last().length) CHECK(reply.state == MessageState::stopped);
    }
    for (const auto& [id, message] : stored.messages)
        CHECK(message.state != MessageState::streaming);
    for (const auto& [id, chat] : stored.chats)
        CHECK((chat.activeLeaf == 0 || stored.messages.count(chat.activeLeaf) == 1));
}

}  // namespace

TEST_CASE("The app: killed at 50 random moments it loses no message", "[gui][serial]") {
    testing::application();
    const QTemporaryDir folder;
    std::mt19937 random(kSeed);
    const auto upTo = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    std::map<int, Stored> before;  // of each file
    int numMessages = 0, numReplies = 0, numBehind = 0;
    for (int round = 0; round < kRounds; ++round) {
        const int file = round * kChatFiles / kRounds;
        const QString home = folder.filePath(QString::number(file));
        const QString path = home + QStringLiteral("/chats.sqlite");
        INFO("round " << round << " of seed " << kSeed);
        App app(home, static_cast<unsigned>(upTo(1 << 30)), "round " + std::to_string(round));
        // At any time, or just when a message was said to be stored, give or take.
        const bool isTimed = round % 2 == 0;
        const long long started = monotonicMs();
        constexpr int kMostMs = 4000, kLongMs = 60'000;
        app.wait(isTimed ? upTo(kMostMs) : kLongMs, isTimed ? kLongMs : 1 + upTo(2));
        if (!isTimed) usleep(static_cast<useconds_t>(upTo(3000)));
        app.kill();
        REQUIRE(app.wasKilled());
        const Report report = read(app.said());
        const double seconds = static_cast<double>(app.killedAt() - started) / 1000;
        if (QFile::exists(path)) {
            const Stored stored = readStore(path);
            checkIntegrity(path);
            checkRound(report, stored, app.killedAt());
            // Nothing of the rounds before has gone.
            for (const auto& [id, message] : before[file].messages) {
                REQUIRE(stored.messages.count(id) == 1);
                CHECK(stored.messages.at(id).content == message.content);
            }
            before[file] = stored;
        } else {
            CHECK(report.stored.empty());
        }
        numMessages += static_cast<int>(report.stored.size());
        numReplies += static_cast<int>(report.shown.size());
        for (const auto& [id, shown] : report.shown)
            numBehind += before[file].messages[id].content.size() < shown.last().length ? 1 : 0;
        // Making the tables takes some 250 KB; then a few pages for each second and message, and
        // the text a few times over (its piece, the whole, the words that can be searched).
        constexpr qint64 kTables = 400'000, kSecond = 150'000, kMessage = 80'000, kText = 20;
        const qint64 most = kTables + static_cast<qint64>(seconds * kSecond) +
                            static_cast<qint64>(report.stored.size()) * kMessage +
                            report.numShown * kText;
        INFO(seconds << " s, " << report.stored.size() << " messages, " << report.numShown
                     << " units of text");
        CHECK(app.written() < most);
    }
    // That the rounds were what they were meant to be.
    CHECK(numMessages > kRounds);
    CHECK(numReplies > kRounds / 2);
    CHECK(numBehind > kRounds / 5);
}
