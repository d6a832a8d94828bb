// SPDX-License-Identifier: Apache-2.0
// AppFixture: the parts of the app over the fake model, in a folder of their own.
#pragma once

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "chat/chat_session.h"
#include "engine/fake_model.h"
#include "gui/support/application.h"
#include "hokku/qt/generator.h"
#include "settings/app_folders.h"
#include "settings/settings.h"
#include "support/catch.h"

namespace hokku::testing {

inline constexpr int kPatienceMs = 10'000;

struct AppFixture {
    QApplication& app = application();
    QTemporaryDir folder;
    desktop::AppFolders folders;
    std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
    std::unique_ptr<desktop::ChatStore> store;
    std::unique_ptr<qt::Generator> generator;

    AppFixture() {
        qputenv("HOKKU_HOME", folder.path().toUtf8());
        auto found = desktop::AppFolders::find(false);
        REQUIRE(found.ok());
        folders = *found;
        control->context_tokens = 4096;
        control->chat_template =
            "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if not loop.last or not "
            "continue_final_message %}<end>{% endif %}{% endfor %}{% if add_generation_prompt %}"
            "<assistant>{% endif %}";
        answer("An answer.");
        openStore();
        generator = std::make_unique<qt::Generator>(make_fake_engine(control));
    }
    void openStore() {
        store.reset();
        auto opened = desktop::ChatStore::open(folders.chatsFile());
        REQUIRE(opened.ok());
        store = std::move(*opened);
    }
    /// A file of this name in the folder; what is in it does not matter to the fake.
    [[nodiscard]] QString modelFile(const char* name = "fake.gguf") const {
        const QString path = folder.path() + QLatin1Char('/') + QLatin1String(name);
        QFile file(path);
        REQUIRE(file.open(QIODevice::WriteOnly));
        return path;
    }
    void answer(const std::string& text) { control->script = answering(text); }
    void loadModel() {
        QSignalSpy ready(generator.get(), &qt::Generator::modelReady);
        generator->load({.path = "fake.gguf"});
        REQUIRE(ready.wait(kPatienceMs));
    }
};

}  // namespace hokku::testing
