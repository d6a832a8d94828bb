// SPDX-License-Identifier: Apache-2.0
// The desktop app over the fake model, which answers every message with two paragraphs. For
// clients that drive it from outside: answering_app, with $HOKKU_HOME.
#include <QApplication>
#include <QLocale>

#include "application/main_window.h"
#include "engine/fake_model.h"
#include "look/theme.h"
#include "settings/language.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("Hokku"));
    Language language;
    language.apply(QStringLiteral("en"));
    Theme::instance().apply(ThemeChoice::light, 100);
    const auto folders = AppFolders::find(false);
    if (!folders.ok()) return 2;
    Settings settings(folders->settingsFile);
    auto store = ChatStore::open(folders->chatsFile());
    if (!store.ok()) return 2;
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 4096;
    control->step_time = std::chrono::milliseconds(2);
    control->chat_template =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}";
    control->script = answering("The old pond:\na **frog** jumps in.\n\nThe sound of water.");
    qt::Generator generator(make_fake_engine(control));
    MainWindow window(
        {.folders = *folders, .settings = settings, .store = **store, .generator = generator});
    window.show();
    window.loadModel(QStringLiteral("./fake.gguf"));
    return QApplication::exec();
}
