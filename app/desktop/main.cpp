// SPDX-License-Identifier: Apache-2.0
// The desktop program: finds its folders, opens the store and the engine, shows the window.
#include <QApplication>
#include <QCommandLineParser>
#include <QFile>
#include <QFileInfo>
#include <QTimer>
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

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

namespace {

const QString kPortable = QStringLiteral("portable"), kSelfTest = QStringLiteral("selftest");

/// Help and version are text, for which no screen is needed.
bool asksForText(std::span<char*> arguments) {
    constexpr std::array<std::string_view, 5> kOptions = {"-h", "--help", "--help-all", "-v",
                                                          "--version"};
    return std::any_of(arguments.begin(), arguments.end(), [&](const char* argument) {
        return std::find(kOptions.begin(), kOptions.end(), argument) != kOptions.end();
    });
}

/// Ends the program where they ask for text, or make no sense.
void parseArguments(QCommandLineParser& parser) {
    const auto words = [](const char* text) { return QCoreApplication::translate("main", text); };
    parser.setApplicationDescription(
        words(QT_TRANSLATE_NOOP("main", "Private, offline chat and drafting")));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addOption({kPortable, words(QT_TRANSLATE_NOOP(
                                     "main", "Keep everything in a folder beside the program"))});
    parser.addOption(
        {kSelfTest, words(QT_TRANSLATE_NOOP(
                        "main", "Load the model, write, stop, and end with 0 if all works"))});
    parser.addPositionalArgument(QStringLiteral("file"),
                                 words(QT_TRANSLATE_NOOP("main", "A model (.gguf) to load")),
                                 QStringLiteral("[file]"));
    parser.process(*QCoreApplication::instance());
}

}  // namespace

int main(int argc, char** argv) {
    dropQtNoise();
    QCoreApplication::setApplicationName(QStringLiteral("Hokku"));
    QCoreApplication::setApplicationVersion(QStringLiteral(HOKKU_VERSION));
    if (asksForText(std::span(argv, static_cast<size_t>(argc)))) {
        QCoreApplication application(argc, argv);
        Language language;
        QCommandLineParser parser;
        parseArguments(parser);
    }
    QApplication application(argc, argv);
    QApplication::setDesktopFileName(QStringLiteral("org.hokku.Hokku"));
    Language language;
    Theme::instance();  // makes the resources available
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/org.hokku.Hokku.svg")));
    QCommandLineParser parser;
    parseArguments(parser);

    const auto fail = [isSelfTest = parser.isSet(kSelfTest)](const QString& text) {
        tellFailure(text, isSelfTest);
        return 1;
    };
    auto folders = AppFolders::find(parser.isSet(kPortable));
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
        if (parser.isSet(kSelfTest)) return Answer::none;
        return instance->handOver(files);
    };
    if (!findMissingFolder(*folders, parser.isSet(kSelfTest))) return 1;
    for (bool hasMoved = false;; hasMoved = true) {
        const SingleInstance::Answer answer = isFirst();
        if (answer == SingleInstance::Answer::taken) return 0;
        if (answer == SingleInstance::Answer::silence) return fail(silenceText());
        // Once: under the lock of the old folder, then for the lock of the new one.
        if (hasMoved || parser.isSet(kSelfTest) || !moveDataFolder(*folders)) break;
    }
    if (!parser.isSet(kSelfTest)) instance->listen();
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
    if (parser.isSet(kSelfTest)) QTimer::singleShot(0, &test, &SelfTest::start);
    return QApplication::exec();
}
