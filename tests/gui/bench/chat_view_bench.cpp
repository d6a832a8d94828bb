// SPDX-License-Identifier: Apache-2.0
// Streams long replies into the chat view as a fast model would, one piece a frame, and prints
// the longest time that the UI thread was away, the mean of a frame, and the memory.
#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QTextBrowser>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "chat/chat_view.h"
#include "gui/chat/markdown_corpus.h"
#include "look/theme.h"

namespace {

using namespace hokku::desktop;

constexpr qsizetype kTokens = 50000;
constexpr qsizetype kCharsPerToken = 4;
constexpr qsizetype kTokensPerSecond = 500;
constexpr qsizetype kFrameMs = 16;
constexpr qsizetype kCharsPerFrame = kTokensPerSecond * kCharsPerToken * kFrameMs / 1000;

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
    QVector<qint64> frames;
    QString memory;
    qsizetype shown = 0, nextReport = 10000 * kCharsPerToken;
    const auto frame = [&](auto&& work) {
        QElapsedTimer timer;
        timer.start();
        work();
        QApplication::processEvents();
        frames.append(timer.nsecsElapsed() / 1000);
        // A layout that was put off to a later moment gets it, as between real frames.
        const qint64 left = kFrameMs * 1000 - frames.last();
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
    const qint64 longest = *std::max_element(frames.begin(), frames.end());
    qint64 sum = 0;
    for (const qint64 time : frames) sum += time;
    std::printf("%-28s longest stall %6.1f ms  mean %5.2f ms  MiB per 10k tokens:%s\n", name,
                static_cast<double>(longest) / 1000,
                static_cast<double>(sum) / 1000 / static_cast<double>(frames.size()),
                qUtf8Printable(memory));
    std::fflush(stdout);
}

void benchOpen(const QString& text) {
    QVector<Turn> turns;
    for (int i = 0; i < 100; ++i) {
        Turn turn;
        turn.id = i + 1;
        turn.role = i % 2 == 0 ? QStringLiteral("user") : QStringLiteral("assistant");
        turn.content = i % 2 == 0 ? QStringLiteral("Go on.") : text.mid(i / 2 * 4000, 4000);
        turns.append(turn);
    }
    ChatView view;
    view.resize(1000, 800);
    view.show();
    QApplication::processEvents();
    QElapsedTimer whole;
    whole.start();
    view.setTurns(turns);
    qint64 longest = whole.elapsed();
    const auto* browser = view.findChild<QTextBrowser*>();
    // Until nothing comes in any more.
    for (int idle = 0, characters = 0; idle < 20;) {
        QElapsedTimer step;
        step.start();
        QApplication::processEvents(QEventLoop::AllEvents);
        longest = qMax(longest, step.elapsed());
        const int now = browser->document()->characterCount();
        idle = now == characters ? idle + 1 : 0;
        characters = now;
        QThread::usleep(500);
    }
    std::printf("%-28s longest stall %6lld ms, whole after %lld ms\n", "open 100 turns, 50k tokens",
                static_cast<long long>(longest), static_cast<long long>(whole.elapsed()));
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
    benchOpen(mixedReply(size));
    return 0;
}
