// SPDX-License-Identifier: Apache-2.0
// The desktop program: finds its folders, opens the store and the engine, shows the window.
#include <QApplication>
#include <QCommandLineParser>
#include <QFile>
#include <QFileInfo>
#include <QTimer>
#include <optional>

#include "application/main_window.h"
#include "application/qt_messages.h"
#include "application/self_test.h"
#include "application/single_instance.h"
#include "application/start_dialogs.h"
#include "hokku/library.h"
#include "look/engine_text.h"
#include "look/theme.h"
#include "settings/app_folders.h"
#include "settings/language.h"

using namespace hokku::desktop;

int main(int argc, char** argv) {
    dropQtNoise();
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("Hokku"));
    QApplication::setApplicationVersion(QStringLiteral(HOKKU_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("org.hokku.Hokku"));
    Language language;
    Theme::instance();  // makes the resources available
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/org.hokku.Hokku.svg")));

    QCommandLineParser parser;
    parser.setApplicationDescription(
        QApplication::translate("main", "Private, offline chat and drafting"));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption portable(
        QStringLiteral("portable"),
        QApplication::translate("main", "Keep everything in a folder beside the program"));
    parser.addOption(portable);
    const QCommandLineOption selftest(
        QStringLiteral("selftest"),
        QApplication::translate("main",
                                "Load the model, write, stop, and end with 0 if all works"));
    parser.addOption(selftest);
    parser.addPositionalArgument(QStringLiteral("file"),
                                 QApplication::translate("main", "A model (.gguf) to load"),
                                 QStringLiteral("[file]"));
    parser.process(application);

    const auto fail = [isSelfTest = parser.isSet(selftest)](const QString& text) {
        tellFailure(text, isSelfTest);
        return 1;
    };
    auto folders = AppFolders::find(parser.isSet(portable));
    if (!folders.ok()) return fail(errorText(folders.error()));
    Settings settings(folders->settingsFile);
    language.apply(settings.language());
    Theme::instance().followSystem();
    Theme::instance().apply(settings.theme(), settings.fontPercent());
    QStringList files;
    for (const QString& file : parser.positionalArguments())
        files.append(QFileInfo(file).absoluteFilePath());
    std::optional<SingleInstance> instance;
    const auto isFirst = [&] {
        using Answer = SingleInstance::Answer;
        instance.emplace(folders->data);
        if (parser.isSet(selftest)) return Answer::none;
        return instance->handOver(files);
    };
    if (!findMissingFolder(*folders, parser.isSet(selftest))) return 1;
    for (bool hasMoved = false;; hasMoved = true) {
        const SingleInstance::Answer answer = isFirst();
        if (answer == SingleInstance::Answer::taken) return 0;
        if (answer == SingleInstance::Answer::silence) return fail(silenceText());
        // Once: under the lock of the old folder, then for the lock of the new one.
        if (hasMoved || parser.isSet(selftest) || !moveDataFolder(*folders)) break;
    }
    if (!parser.isSet(selftest)) instance->listen();
    // The engine looks for models by their names there, too.
    if (folders->isPortable || folders->isChoosable)
        qputenv("HOKKU_HOME", QFile::encodeName(folders->data));
    QObject::connect(&settings, &Settings::languageChanged, &settings,
                     [&] { language.apply(settings.language()); });
    QObject::connect(&settings, &Settings::themeChanged, &settings, [&settings] {
        Theme::instance().apply(settings.theme(), settings.fontPercent());
    });
    auto store = ChatStore::open(folders->chatsFile());
    if (!store.ok()) return fail(errorText(store.error()));
    auto engine = hokku::Engine::create();
    if (!engine.ok()) return fail(errorText(engine.error()));
    hokku::qt::Generator generator(std::move(*engine));

    MainWindow window(
        {.folders = *folders, .settings = settings, .store = **store, .generator = generator});
    window.show();
    QObject::connect(&*instance, &SingleInstance::opened, &window, [&](const QStringList& more) {
        window.bringUp();
        for (const QString& file : more) window.openFile(file);
    });
    // After the first frame, so that the window is there at once.
    QTimer::singleShot(0, &window, [&] {
        if (files.isEmpty()) window.loadModel(settings.modelPath());
        for (const QString& file : files) window.openFile(file);
    });
    SelfTest test(window);
    if (parser.isSet(selftest)) QTimer::singleShot(0, &test, &SelfTest::start);
    return QApplication::exec();
}
