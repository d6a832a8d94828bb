// SPDX-License-Identifier: Apache-2.0
#include "application/single_instance.h"

#include <QTemporaryDir>
#include <thread>

#include "gui/application/app_fixture.h"

using namespace hokku::desktop;
using namespace hokku::testing;

TEST_CASE("SingleInstance: a second start hands its files over", "[gui][quick]") {
    application();
    const QTemporaryDir folder;
    SingleInstance first(folder.path());
    CHECK_FALSE(first.handOver({}));
    first.listen();
    QSignalSpy opened(&first, &SingleInstance::opened);
    bool isTaken = false;
    const QStringList files{QStringLiteral("/tmp/ä.gguf")};
    std::thread second([&] {
        SingleInstance other(folder.path());
        isTaken = other.handOver(files);
    });
    REQUIRE(opened.wait(kPatienceMs));
    second.join();
    CHECK(isTaken);
    CHECK(opened.first().first().toStringList() == files);
}

TEST_CASE("SingleInstance: programs with other folders do not meet", "[gui][quick]") {
    application();
    const QTemporaryDir a, b;
    SingleInstance first(a.path());
    first.listen();
    SingleInstance other(b.path());
    CHECK_FALSE(other.handOver({}));
}
