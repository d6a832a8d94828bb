// SPDX-License-Identifier: Apache-2.0
// What a person sees of a disk that is full or read-only, and that the session goes on.
#include <sys/resource.h>

#include <QLabel>
#include <QTreeView>
#include <csignal>

#include "gui/application/window_fixture.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Whether a label that is to be seen has this in it.
bool isShown(const MainWindow& window, const QString& text) {
    for (const QLabel* label : window.findChildren<QLabel*>())
        if (label->isVisible() && label->text().contains(text)) return true;
    return false;
}

}  // namespace

TEST_CASE("MainWindow: without a place for the conversations it says so and works",
          "[gui][quick]") {
    WindowFixture f;
    QFile blocker(f.folder.filePath(QStringLiteral("file")));
    REQUIRE(blocker.open(QIODevice::WriteOnly));
    f.window.reset();
    auto store = ChatStore::open(blocker.fileName() + QStringLiteral("/chats.sqlite"));
    REQUIRE(store.ok());
    f.store = std::move(*store);
    f.openWindow();
    CHECK(isShown(*f.window, QStringLiteral("cannot be stored")));
    f.say("Hello");
    REQUIRE(f.window->session().turns().size() == 2);
    CHECK(f.window->session().turns().last().content == QStringLiteral("An answer."));
    f.say("Again");
    CHECK(f.window->session().turns().size() == 4);
    QTest::qWait(50);
    CHECK(f.find<QTreeView>("conversationTree")->model()->rowCount() == 1);
}

TEST_CASE("MainWindow: when the disk becomes full no message is lost from sight", "[gui][quick]") {
    WindowFixture f;
    f.say("Hello");
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit none = before;
    none.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    f.say("Is there room?");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(isShown(*f.window, QStringLiteral("cannot be stored")));
    REQUIRE(f.window->session().turns().size() == 4);
    CHECK(f.window->session().turns()[2].content == QStringLiteral("Is there room?"));
    CHECK(f.window->session().turns()[3].state == MessageState::complete);
    const ChatId chat = f.window->session().chat();
    f.window.reset();
    f.openStore();  // closing the old one has stored it
    CHECK(f.store->messages(chat)->size() == 4);
}
