// SPDX-License-Identifier: Apache-2.0
// Streams long replies into the chat view as a fast model would, one piece a frame, and prints
// the longest time that the UI thread was away, the mean of a frame, and the memory. Of the longest
// it also says how much the thread worked: on a machine that does other things besides, the rest is
// theirs.
#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QTextBrowser>
#include <QThread>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "chat/chat_view.h"
#include "gui/chat/markdown_corpus.h"
#include "look/theme.h"

namespace {

using namespace hokku::desktop;

constexpr qsizetype kTokens = 50000;
constexpr qsizetype kCharsPerToken = 4;
constexpr qsizetype kTokensPerSecond = 500;
constexpr qsizetype kFrameMs = 16;
constexpr qsizetype kCharsPerTurn = 4000;
constexpr qsizetype kCharsPerFrame = kTokensPerSecond * kCharsPerToken * kFrameMs / 1000;

/// Of the clock on the wall and of this thread's work, in microseconds.
struct Spent {
    qint64 wall = 0, work = 0;
};

qint64 threadMicroseconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return qint64{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

template <class Work>
Spent measure(Work&& work) {
    const qint64 before = threadMicroseconds();
    QElapsedTimer timer;
    timer.start();
    work();
    const qint64 wall = timer.nsecsElapsed() / 1000;
    return {wall, threadMicroseconds() - before};
}

/// The longest of each.
Spent longest(const QVector<Spent>& all) {
    Spent most;
    for (const Spent& spent : all)
        most = {qMax(most.wall, spent.wall), qMax(most.work, spent.work)};
    return most;
}

double milliseconds(qint64 microseconds) {
    return static_cast<double>(microseconds) / 1000;
}

/// Resident memory of the process in MiB; 0 where that is not told.
double residentMib() {
    QFile file(QStringLiteral("/proc/self/statm"));
    if (!file.open(QIODevice::ReadOnly)) return 0;
    const QList<QByteArray> fields = file.readAll().split(' ');
    return fields.size() < 2 ? 0 : fields[1].toDouble() * 4096 / (1024 * 1024);
}

/// A reply as models write them: prose, lists, code and tables in turns.
QString mixedReply(qsizetype size) {
    const QString part = QStringLiteral(
        "## Step %1\n\nA paragraph with **strong** words, *emphasis*, `code` and [a link]"
        "(https://example.org/%1). It goes on for a while, as replies of models do, so that "
        "it wraps a few times in the column.\n\n"
        "1. First, do **this** with care\n2. Then do that\n   - a detail\n   - another one\n\n"
        "```cpp\n// Part %1\nint part%1(const std::string& text) {\n    int n = 0;\n"
        "    for (char c : text) n += c == 'a' ? 1 : 0;\n    return n + %1;\n}\n```\n\n"
        "| Name | Value | Note |\n|:--|--:|---|\n| alpha | %1 | the first |\n"
        "| beta | 2 | the second, somewhat longer |\n| gamma | 3 | - |\n\n"
        "> A quotation to end it.\n\n");
    QString text;
    for (int i = 1; text.size() < size; ++i) text += part.arg(i);
    return text;
}

void benchReply(const char* name, const QString& text) {
    ChatView view;
    view.resize(1000, 800);
    view.show();
    Turn person;
    person.id = 1;
    person.role = QStringLiteral("user");
    person.content = QStringLiteral("Write a lot.");
    Turn reply;
    reply.id = 2;
    reply.role = QStringLiteral("assistant");
    reply.state = MessageState::streaming;
    view.setTurns({person, reply});
    QApplication::processEvents();

    const double before = residentMib();
    QVector<Spent> frames;
    QString memory;
    qsizetype shown = 0, nextReport = 10000 * kCharsPerToken;
    const auto frame = [&](auto&& work) {
        frames.append(measure([&] {
            work();
            QApplication::processEvents();
        }));
        // A layout that was put off to a later moment gets it, as between real frames.
        const qint64 left = kFrameMs * 1000 - frames.last().wall;
        if (left > 0) QThread::usleep(static_cast<unsigned long>(left / 8));
    };
    while (shown < text.size()) {
        frame([&] { view.streamText(text.mid(shown, kCharsPerFrame)); });
        shown += kCharsPerFrame;
        if (shown < nextReport) continue;
        nextReport += 10000 * kCharsPerToken;
        memory += QStringLiteral(" %1").arg(residentMib() - before, 0, 'f', 1);
    }
    reply.content = text;
    reply.state = MessageState::complete;
    frame([&] { view.updateTurn(reply); });
    frame([] {});
    qint64 sum = 0;
    for (const Spent& spent : frames) sum += spent.work;
    const Spent most = longest(frames);
    std::printf(
        "%-28s longest stall %6.1f ms (work %5.1f), mean work %5.2f, MiB after 10k tokens "
        "each:%s\n",
        name, milliseconds(most.wall), milliseconds(most.work),
        milliseconds(sum) / static_cast<double>(frames.size()), qUtf8Printable(memory));
    std::fflush(stdout);
}

QVector<Turn> conversation(int numTurns, const QString& text) {
    QVector<Turn> turns;
    for (int i = 0; i < numTurns; ++i) {
        Turn turn;
        turn.id = i + 1;
        turn.role = i % 2 == 0 ? QStringLiteral("user") : QStringLiteral("assistant");
        turn.content = i % 2 == 0 ? QStringLiteral("Go on.")
                                  : text.mid(i / 2 * kCharsPerTurn % (text.size() - kCharsPerTurn),
                                             kCharsPerTurn);
        turns.append(turn);
    }
    return turns;
}

void benchOpen(const QString& name, const QVector<Turn>& turns) {
    ChatView view;
    view.resize(1000, 800);
    view.show();
    QApplication::processEvents();
    const double before = residentMib();
    QElapsedTimer whole;
    whole.start();
    QVector<Spent> steps{measure([&] { view.setTurns(turns); })};
    // The end, where a person reads on, is there with the first frame.
    steps.append(measure([] { QApplication::processEvents(); }));
    const qint64 first = whole.elapsed();
    const auto* browser = view.findChild<QTextBrowser*>();
    // Until nothing comes in any more.
    for (int idle = 0, characters = 0; idle < 20;) {
        steps.append(measure([] { QApplication::processEvents(QEventLoop::AllEvents); }));
        const int now = browser->document()->characterCount();
        idle = now == characters ? idle + 1 : 0;
        characters = now;
        QThread::usleep(500);
    }
    const Spent most = longest(steps);
    std::printf(
        "%-28s longest stall %6.1f ms (work %5.1f), shown after %lld ms, whole after %lld "
        "ms, %.1f MiB\n",
        qUtf8Printable(name), milliseconds(most.wall), milliseconds(most.work),
        static_cast<long long>(first), static_cast<long long>(whole.elapsed()),
        residentMib() - before);
    std::fflush(stdout);
}

void benchOpenReply(const char* name, const QString& text) {
    Turn reply;
    reply.id = 1;
    reply.role = QStringLiteral("assistant");
    reply.content = text;
    benchOpen(QStringLiteral("open ") + QString::fromUtf8(name), {reply});
}

}  // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    Theme::instance().apply(ThemeChoice::light, 100);
    const qsizetype size = (argc > 1 ? std::atoll(argv[1]) : kTokens) * kCharsPerToken;
    benchReply("mixed Markdown", mixedReply(size));
    for (const auto& block : hokku::testing::longBlocks(size)) {
        const QString name = QString::fromUtf8(block.name);
        if (argc > 2 || name == QStringLiteral("a paragraph of one line") ||
            name == QStringLiteral("a code block") || name == QStringLiteral("a list") ||
            name == QStringLiteral("a table"))
            benchReply(block.name, block.text);
    }
    for (const int turns : {100, 1000}) {
        const auto name = QStringLiteral("open %1 turns, %2k tokens")
                              .arg(turns)
                              .arg(turns / 2 * kCharsPerTurn / kCharsPerToken / 1000);
        benchOpen(name, conversation(turns, mixedReply(size)));
    }
    if (argc <= 2) return 0;
    // What no model means to write.
    benchOpenReply("formulas without an end", QStringLiteral("\\[ a\n").repeated(200'000));
    benchOpenReply("joined emoji", QString::fromUtf8("\U0001F469\u200D").repeated(20'000));
    benchOpenReply("a line without spaces", QString::fromUtf8("\u6F22").repeated(200'000));
    return 0;
}
