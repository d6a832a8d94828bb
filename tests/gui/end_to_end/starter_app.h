// SPDX-License-Identifier: Apache-2.0
// StarterApp: the whole app with a real engine and the starter model, in a folder of its own, and
// what a person does with keys and mouse.
#pragma once

#include <QElapsedTimer>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "application/main_window.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "look/theme.h"
#include "support/catch.h"
#include "support/golden.h"

namespace hokku::testing {

/// Of one reply of a real model on a busy machine.
inline constexpr int kReplyPatienceMs = 120'000;

class StarterApp {
  public:
    /// `model` is found by find_model(); the app finds it in its library.
    explicit StarterApp(const std::filesystem::path& model) {
        application();
        qputenv("HOKKU_HOME", m_home.path().toUtf8());
        desktop::Theme::instance().apply(desktop::ThemeChoice::light, 100);
        const auto found = desktop::AppFolders::find(false);
        REQUIRE(found.ok());
        folders = *found;
        const QString name = QString::fromStdString(model.filename().string());
        REQUIRE(QFile::link(QString::fromStdString(model.string()),
                            folders.models + QLatin1Char('/') + name));
    }
    ~StarterApp() { stop(); }
    StarterApp(const StarterApp&) = delete;
    StarterApp& operator=(const StarterApp&) = delete;

    /// As main() does it.
    void start() {
        settings = std::make_unique<desktop::Settings>(folders.settingsFile);
        auto opened = desktop::ChatStore::open(folders.chatsFile());
        REQUIRE(opened.ok());
        store = std::move(*opened);
        auto engine = Engine::create();
        REQUIRE(engine.ok());
        generator = std::make_unique<qt::Generator>(std::move(*engine));
        window = std::make_unique<desktop::MainWindow>(desktop::MainWindowParts{
            .folders = folders, .settings = *settings, .store = *store, .generator = *generator});
        window->show();
        window->activateWindow();
        REQUIRE(QTest::qWaitForWindowActive(window.get()));
    }
    void load(const QString& path) {
        QSignalSpy ready(generator.get(), &qt::Generator::modelReady);
        window->loadModel(path);
        REQUIRE(ready.wait(kReplyPatienceMs));
    }
    void stop() {
        window.reset();
        generator.reset();
        store.reset();
        settings.reset();
    }

    [[nodiscard]] desktop::ChatSession& session() { return window->session(); }
    [[nodiscard]] QVector<desktop::Turn> turns() { return session().turns(); }
    [[nodiscard]] desktop::Turn last() { return session().turns().last(); }
    template <class Widget>
    Widget* find(const char* name) {
        auto* widget = window->findChild<Widget*>(QLatin1String(name));
        REQUIRE(widget != nullptr);
        return widget;
    }
    QPlainTextEdit* edit() { return find<QPlainTextEdit>("messageEdit"); }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QTest::keyClick(window.get(), key, modifiers);
    }
    /// Types and presses Enter.
    void send(const QString& text) {
        edit()->setFocus();
        QTest::keyClicks(edit(), text);
        QTest::keyClick(edit(), Qt::Key_Return);
    }
    /// Does what starts a reply and waits for its end.
    template <class Action>
    desktop::Turn replyTo(Action action) {
        QSignalSpy ended(&session(), &desktop::ChatSession::replyEnded);
        action();
        REQUIRE((!ended.isEmpty() || ended.wait(kReplyPatienceMs)));
        return ended.last().first().value<desktop::Turn>();
    }
    desktop::Turn say(const QString& text) {
        return replyTo([&] { send(text); });
    }

    desktop::AppFolders folders;
    std::unique_ptr<desktop::Settings> settings;
    std::unique_ptr<desktop::ChatStore> store;
    std::unique_ptr<qt::Generator> generator;
    std::unique_ptr<desktop::MainWindow> window;

  private:
    QTemporaryDir m_home;
};

}  // namespace hokku::testing
