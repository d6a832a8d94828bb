// SPDX-License-Identifier: Apache-2.0
#include "application/main_window.h"

#include <QAbstractButton>
#include <QAccessible>
#include <QInputMethodEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QToolButton>
#include <QTreeView>
#include <QWheelEvent>

#include "chat/chat_page.h"
#include "chat/composer.h"
#include "gui/application/window_fixture.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

using Fixture = WindowFixture;

}  // namespace

TEST_CASE("MainWindow: what is typed is sent with Enter and answered", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    CHECK(f.edit()->toPlainText().isEmpty());
    const QVector<Turn> turns = f.window->session().turns();
    REQUIRE(turns.size() == 2);
    CHECK(turns[0].content == QStringLiteral("Hello"));
    CHECK(turns[1].content == QStringLiteral("An answer."));
}

TEST_CASE("MainWindow: Enter of an input method does not send", "[gui][quick]") {
    Fixture f;
    f.edit()->setFocus();
    QInputMethodEvent compose(QStringLiteral("か"), {});
    QApplication::sendEvent(f.edit(), &compose);
    QTest::keyClick(f.edit(), Qt::Key_Return);
    CHECK(f.window->session().turns().isEmpty());
    QInputMethodEvent commit;
    commit.setCommitString(QStringLiteral("蛙"));
    QApplication::sendEvent(f.edit(), &commit);
    CHECK(f.edit()->toPlainText().contains(QStringLiteral("蛙")));
    CHECK(f.window->session().turns().isEmpty());
}

TEST_CASE("MainWindow: Shift+Enter begins a line, Escape stops a reply", "[gui][quick]") {
    Fixture f;
    f.type("one");
    QTest::keyClick(f.edit(), Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(f.edit(), QStringLiteral("two"));
    CHECK(f.edit()->toPlainText() == QStringLiteral("one\ntwo"));
    f.answer(std::string(3000, 'x'));
    f.control->step_time = std::chrono::milliseconds(2);
    QSignalSpy streamed(&f.window->session(), &ChatSession::textStreamed);
    QSignalSpy ended(&f.window->session(), &ChatSession::replyEnded);
    QTest::keyClick(f.edit(), Qt::Key_Return);
    REQUIRE(streamed.wait(kPatienceMs));
    QTest::mouseClick(f.find<QToolButton>("sendButton"), Qt::LeftButton);
    REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
    CHECK(f.window->session().turns().last().state == MessageState::stopped);
}

TEST_CASE("MainWindow: Up in an empty field edits the last message", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    QTest::keyClick(f.edit(), Qt::Key_Up);
    CHECK(f.edit()->toPlainText() == QStringLiteral("Hello"));
    f.say(" again");
    const QVector<Turn> turns = f.window->session().turns();
    REQUIRE(turns.size() == 2);
    CHECK(turns.first().content == QStringLiteral("Hello again"));
    CHECK(turns.first().numVersions == 2);
}

TEST_CASE("MainWindow: a draft and the conversation are there after a restart", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    const ChatId chat = f.window->session().chat();
    f.type("half a thou");
    QTest::qWait(400);  // the delay after which a draft is stored
    f.openWindow();
    f.openStore();
    const auto record = f.store->chat(chat);
    REQUIRE(record.ok());
    CHECK(record->draft == QStringLiteral("half a thou"));
    CHECK(f.store->messages(chat)->size() == 2);
}

TEST_CASE("MainWindow: the search field finds messages", "[gui][quick]") {
    Fixture f;
    f.answer("A frog jumps into the pond.");
    f.say("Hello");
    auto* field = f.find<QLineEdit>("searchField");
    QTest::keyClicks(field, QStringLiteral("frog"));
    auto* results = f.find<QListWidget>("searchResults");
    REQUIRE(QTest::qWaitFor([&] { return results->count() == 1; }, kPatienceMs));
    QTest::keyClicks(field, QStringLiteral("zzz"));
    REQUIRE(QTest::qWaitFor([&] { return results->count() == 0; }, kPatienceMs));
}

TEST_CASE("MainWindow: a temporary chat leaves no trace", "[gui][quick]") {
    Fixture f;
    QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
    f.say("a secret that must not be kept");
    CHECK(f.window->session().turns().size() == 2);
    CHECK(f.store->chats()->isEmpty());
    f.window.reset();
    f.store.reset();
    for (const QFileInfo& file : QDir(f.folder.path()).entryInfoList(QDir::Files)) {
        QFile content(file.filePath());
        REQUIRE(content.open(QIODevice::ReadOnly));
        INFO(file.fileName().toStdString());
        CHECK_FALSE(content.readAll().contains("secret"));
    }
}

TEST_CASE("MainWindow: the device is always shown", "[gui][quick]") {
    Fixture f;
    bool isShown = false;
    for (const QLabel* label : f.window->findChildren<QLabel*>())
        isShown =
            isShown || (label->isVisible() &&
                        label->text() == QString::fromStdString(f.generator->model()->device));
    CHECK(isShown);
}

TEST_CASE("MainWindow: a model that cannot be loaded is named with the reason", "[gui][quick]") {
    Fixture f;
    f.control->fail_open = 1;
    QSignalSpy failed(f.generator.get(), &qt::Generator::loadFailed);
    f.window->loadModel(QStringLiteral("/nowhere/broken.gguf"));
    REQUIRE(failed.wait(kPatienceMs));
    bool isNamed = false;
    for (const QLabel* label : f.window->findChildren<QLabel*>())
        isNamed = isNamed || label->text().contains(QStringLiteral("broken.gguf"));
    CHECK(isNamed);
    f.control->fail_open = 0;
}

TEST_CASE("MainWindow: no control that takes the focus is without a name", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    for (QWidget* widget : f.window->findChildren<QWidget*>()) {
        if (widget->focusPolicy() == Qt::NoFocus || widget->focusProxy() != nullptr) continue;
        if (widget->isHidden()) continue;  // by itself, not because its page is not shown
        // The list of a combo box: Qt's own, named by the box.
        if (widget->inherits("QComboBoxListView")) continue;
        QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(widget);
        if (accessible == nullptr) continue;
        // Parts that Qt puts into its own controls are named by these.
        const bool isInner = widget->objectName().startsWith(QLatin1String("qt_"));
        const QString name = accessible->text(QAccessible::Name);
        INFO(widget->metaObject()->className()
             << " " << widget->objectName().toStdString() << " in "
             << widget->parentWidget()->metaObject()->className());
        CHECK((isInner || !name.isEmpty()));
    }
}

TEST_CASE("MainWindow: what is chosen for the engine is what the model is loaded with",
          "[gui][quick]") {
    Fixture f;
    LoadOptions seen;
    f.control->on_open = [&](const LoadOptions& options) { seen = options; };
    QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
    f.settings->setKvType(QStringLiteral("f32"));  // loads the model anew
    REQUIRE(ready.wait(kPatienceMs));
    CHECK(seen.kv_type == KvType::f32);
    f.settings->setKvType({});
    REQUIRE(ready.wait(kPatienceMs));
    CHECK_FALSE(seen.kv_type);
    f.settings->setKvType(QStringLiteral("q8_0"));
    REQUIRE(ready.wait(kPatienceMs));
    f.settings->setContextTokens(1000);
    REQUIRE(ready.wait(kPatienceMs));
    f.settings->setNumThreads(3);
    REQUIRE(ready.wait(kPatienceMs));
    f.settings->setUseMapping(false);
    REQUIRE(ready.wait(kPatienceMs));
    CHECK(seen.kv_type == KvType::q8_0);
    CHECK(seen.context_tokens == 1000u);
    CHECK(seen.num_threads == 3);
    CHECK_FALSE(seen.use_mapping);
}

TEST_CASE("MainWindow: in a narrow window the conversations lie over the chat", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    auto* sidebar = f.find<QWidget>("sidebar");
    REQUIRE(sidebar->isVisible());
    const int chatWidth = f.window->chatPage().width();
    f.window->resize(420, 700);
    CHECK_FALSE(sidebar->isVisible());
    const int narrowWidth = f.window->chatPage().width();
    f.find<QToolButton>("sidebarButton")->click();
    REQUIRE(sidebar->isVisible());
    CHECK(f.window->chatPage().width() == narrowWidth);
    CHECK(sidebar->width() < f.window->width());
    SECTION("a press beside them closes them") {
        QWidget* shade = f.window->childAt(f.window->width() - 10, 300);
        REQUIRE(shade != nullptr);
        QTest::mouseClick(shade, Qt::LeftButton);
        CHECK_FALSE(sidebar->isVisible());
    }
    SECTION("Escape closes them") {
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        CHECK_FALSE(sidebar->isVisible());
    }
    SECTION("in a wide window they are beside it again") {
        f.window->resize(1080, 760);
        QTest::qWait(20);
        CHECK(sidebar->isVisible());
        CHECK(qAbs(f.window->chatPage().width() - chatWidth) < 40);
    }
}

TEST_CASE("MainWindow: scrolling the settings changes none of them", "[gui][quick]") {
    Fixture f;
    f.find<QToolButton>("settingsButton")->click();
    for (const char* name : {"themeBox", "presetBox", "presetModelBox", "temperature"}) {
        auto* control = f.find<QWidget>(name);
        INFO(name);
        control->setFocus();
        const QVariant before = control->property("currentIndex"),
                       value = control->property("value");
        const QPointF place = control->rect().center();
        QWheelEvent wheel(place, control->mapToGlobal(place), {}, {0, -120}, Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(control, &wheel);
        CHECK(control->property("currentIndex") == before);
        CHECK(control->property("value") == value);
    }
}
