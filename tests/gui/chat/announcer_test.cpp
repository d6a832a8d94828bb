// SPDX-License-Identifier: Apache-2.0
#include "chat/announcer.h"

#include <QAccessible>
#include <QSignalSpy>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

constexpr int kPatienceMs = 5000;

QStringList allSaid(const QSignalSpy& said) {
    QStringList texts;
    for (const QList<QVariant>& arguments : said) texts.append(arguments.first().toString());
    return texts;
}

}  // namespace

TEST_CASE("Announcer: a block is said when it is whole, without its marks", "[gui][quick]") {
    application();
    Announcer announcer;
    QSignalSpy said(&announcer, &Announcer::said);
    announcer.read(QStringLiteral("The **old** po"));
    announcer.read(QStringLiteral("nd:\n\nA frog jumps in and"));
    REQUIRE(said.wait(kPatienceMs));
    CHECK(allSaid(said) == QStringList{QStringLiteral("The old pond:")});
    announcer.read(QStringLiteral(" is gone."));
    announcer.finish();
    REQUIRE(said.wait(kPatienceMs));
    CHECK(said.last().first().toString() == QStringLiteral("A frog jumps in and is gone."));
    announcer.read(QStringLiteral("Another"));
    announcer.finish();
    REQUIRE(said.wait(kPatienceMs));
    CHECK(said.last().first().toString() == QStringLiteral("Another"));
}

TEST_CASE("Announcer: what comes at once is said at once", "[gui][quick]") {
    application();
    Announcer announcer;
    QSignalSpy said(&announcer, &Announcer::said);
    announcer.say(QStringLiteral("one"));
    announcer.say(QStringLiteral("  "));
    announcer.say(QStringLiteral("two"));
    REQUIRE(said.wait(kPatienceMs));
    CHECK(allSaid(said) == QStringList{QStringLiteral("one\ntwo")});
    CHECK(announcer.accessibleName() == QStringLiteral("one\ntwo"));
    QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(&announcer);
    REQUIRE(accessible != nullptr);
    CHECK(accessible->role() == QAccessible::Notification);
    CHECK(accessible->text(QAccessible::Name) == QStringLiteral("one\ntwo"));
}
