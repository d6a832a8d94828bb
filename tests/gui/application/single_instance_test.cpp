// SPDX-License-Identifier: Apache-2.0
#include "application/single_instance.h"

#include <unistd.h>
#include <QTemporaryDir>
#include <atomic>
#include <thread>

#include "gui/application/app_fixture.h"
#include "support/child_process.h"

using namespace hokku::desktop;
using namespace hokku::testing;
using Answer = SingleInstance::Answer;

TEST_CASE("SingleInstance: a second start hands its files over", "[gui][quick]") {
    application();
    const QTemporaryDir folder;
    SingleInstance first(folder.path());
    CHECK(first.handOver({}) == Answer::none);
    first.listen();
    QSignalSpy opened(&first, &SingleInstance::opened);
    Answer answer = Answer::none;
    const QStringList files{QStringLiteral("/tmp/ä.gguf")};
    std::thread second([&] {
        SingleInstance other(folder.path());
        answer = other.handOver(files);
    });
    REQUIRE(opened.wait(kPatienceMs));
    second.join();
    CHECK(answer == Answer::taken);
    CHECK(opened.first().first().toStringList() == files);
}

TEST_CASE("SingleInstance: programs with other folders do not meet", "[gui][quick]") {
    application();
    const QTemporaryDir a, b;
    SingleInstance first(a.path());
    CHECK(first.handOver({}) == Answer::none);
    first.listen();
    SingleInstance other(b.path());
    CHECK(other.handOver({}) == Answer::none);
}

TEST_CASE("SingleInstance: a second start while the first is busy is not lost", "[gui][quick]") {
    application();
    const QTemporaryDir folder;
    SingleInstance first(folder.path());
    REQUIRE(first.handOver({}) == Answer::none);
    first.listen();
    QSignalSpy opened(&first, &SingleInstance::opened);
    Answer answer = Answer::none;
    const QStringList files{QStringLiteral("/tmp/a.gguf")};
    std::thread second([&] {
        SingleInstance other(folder.path());
        answer = other.handOver(files);
    });
    QThread::msleep(1200);  // no events meanwhile
    second.join();
    CHECK(answer == Answer::taken);
    CHECK(opened.isEmpty());
    REQUIRE(opened.wait(kPatienceMs));
    CHECK(opened.first().first().toStringList() == files);
}

TEST_CASE("SingleInstance: of many starts at once exactly one is the first", "[gui][quick]") {
    application();
    const QTemporaryDir folder;
    std::atomic<int> numFirst = 0, numTaken = 0, numDone = 0;
    constexpr int kStarts = 8;
    std::vector<std::thread> starts;
    for (int i = 0; i < kStarts; ++i)
        starts.emplace_back([&] {
            SingleInstance instance(folder.path());
            const Answer answer = instance.handOver({});
            if (answer == Answer::none) {
                ++numFirst;
                QThread::msleep(100);  // what a program does before it listens
                instance.listen();
            }
            numTaken += answer == Answer::taken ? 1 : 0;
            ++numDone;
            while (numDone < kStarts) QThread::msleep(5);
        });
    for (std::thread& start : starts) start.join();
    CHECK(numFirst == 1);
    CHECK(numTaken == kStarts - 1);
}

TEST_CASE("SingleInstance: what a killed one has left is in nobody's way", "[gui][quick]") {
    application();
    const QTemporaryDir folder;
    run_in_child([&]() -> std::string {
        SingleInstance killed(folder.path());
        if (killed.handOver({}) != Answer::none) _exit(1);
        killed.listen();
        _exit(0);  // no destructor
    });
    SingleInstance next(folder.path());
    CHECK(next.handOver({}) == Answer::none);
    next.listen();
    QSignalSpy opened(&next, &SingleInstance::opened);
    std::thread second([&] { SingleInstance(folder.path()).handOver({}); });
    CHECK(opened.wait(kPatienceMs));
    second.join();
}
