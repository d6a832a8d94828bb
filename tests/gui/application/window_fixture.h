// SPDX-License-Identifier: Apache-2.0
// WindowFixture: the whole window over the fake model, and what a person does with it.
#pragma once

#include <QPlainTextEdit>

#include "application/main_window.h"
#include "gui/application/app_fixture.h"
#include "look/theme.h"

namespace hokku::testing {

struct WindowFixture : AppFixture {
    std::unique_ptr<desktop::Settings> settings;
    std::unique_ptr<desktop::MainWindow> window;

    WindowFixture() {
        settings = std::make_unique<desktop::Settings>(folders.settingsFile);
        desktop::Theme::instance().apply(desktop::ThemeChoice::light, 100);
        openWindow();
    }
    void openWindow() {
        window.reset();
        window = std::make_unique<desktop::MainWindow>(desktop::MainWindowParts{
            .folders = folders, .settings = *settings, .store = *store, .generator = *generator});
        window->show();
        load(modelFile());
    }
    void load(const QString& path) {
        QSignalSpy ready(generator.get(), &qt::Generator::modelReady);
        window->loadModel(path);
        REQUIRE(ready.wait(kPatienceMs));
    }
    template <class Widget>
    Widget* find(const char* name) {
        auto* widget = window->findChild<Widget*>(QLatin1String(name));
        REQUIRE(widget != nullptr);
        return widget;
    }
    QPlainTextEdit* edit() { return find<QPlainTextEdit>("messageEdit"); }
    void type(const char* text) {
        edit()->setFocus();
        QTest::keyClicks(edit(), QString::fromUtf8(text));
    }
    /// Types, sends with Enter and waits for the end of the reply.
    void say(const char* text) {
        QSignalSpy ended(&window->session(), &desktop::ChatSession::replyEnded);
        type(text);
        QTest::keyClick(edit(), Qt::Key_Return);
        REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
    }
};

}  // namespace hokku::testing
