// SPDX-License-Identifier: Apache-2.0
// Opens the real window over sample conversations and saves pictures of its pages:
//   take_pictures OUT [--models FOLDER] [--language de] [--theme dark] [--right-to-left]
// The starter model must be installed. QT_SCALE_FACTOR=1.5 makes pictures for finer screens.
#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTextStream>
#include <QToolButton>

#include "application/main_window.h"
#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "conversations/sidebar.h"
#include "gui/pictures/sample_chats.h"
#include "look/theme.h"
#include "settings/language.h"

namespace {

using namespace hokku::desktop;
using namespace hokku::testing;

constexpr int kPatienceMs = 60'000, kSettleMs = 400;

class Photographer {
  public:
    Photographer(MainWindow& window, QString folder) : m_window(window), m_out(std::move(folder)) {}

    void take(const char* name) {
        QTest::qWait(kSettleMs);
        const QString path = m_out + QLatin1Char('/') + QLatin1String(name) + QLatin1String(".png");
        if (!m_window.grab().save(path)) QTextStream(stderr) << "not written: " << path << Qt::endl;
    }
    template <class Widget = QWidget>
    Widget& find(const char* name) {
        return *m_window.findChild<Widget*>(QLatin1String(name));
    }
    void press(const char* button) { find<QToolButton>(button).click(); }
    /// A picture of each screenful of a page.
    void takeAll(const char* name) {
        QScrollArea* area = nullptr;
        for (QScrollArea* candidate : m_window.findChildren<QScrollArea*>())
            if (candidate->isVisible()) area = candidate;
        take(name);
        if (area == nullptr) return;
        QScrollBar* bar = area->verticalScrollBar();
        for (int i = 2; bar->value() < bar->maximum(); ++i) {
            bar->setValue(bar->value() + bar->pageStep() - kGrid);
            take(QByteArray(name + QByteArray("-") + QByteArray::number(i)).constData());
        }
        bar->setValue(0);
    }

  private:
    MainWindow& m_window;
    QString m_out;
};

/// What happens to long conversations: a thought, turns that were left out, the choice when full.
void takeLongChat(MainWindow& window, Photographer& photographer, ChatId chat) {
    emit window.findChild<Sidebar*>()->chatSelected(chat);
    const MessageId reply = window.session().turns().last().id;
    emit window.chatPage().view().findChild<QTextBrowser*>()->anchorClicked(
        QUrl(QStringLiteral("hokku:thought/%1").arg(reply)));
    for (QToolButton* info : window.findChildren<QToolButton*>(QStringLiteral("turn-info")))
        if (info->isVisible()) info->click();
    emit window.session().contextFull({});
    window.chatPage().view().setScrollPosition(1);
    photographer.take("long");
}

void takePages(MainWindow& window, Photographer& photographer, ChatId chat) {
    emit window.findChild<Sidebar*>()->chatSelected(chat);
    window.chatPage().view().setScrollPosition(1);
    photographer.take("chat");
    photographer.press("settingsButton");
    photographer.takeAll("settings");
    photographer.press("moreSamplingButton");
    photographer.takeAll("sampling");
    photographer.press("moreSamplingButton");
    photographer.press("settingsButton");
    photographer.press("modelButton");
    photographer.takeAll("models");
    photographer.press("modelButton");
    auto& field = photographer.find<QLineEdit>("searchField");
    field.setText(QStringLiteral("rain"));
    photographer.take("search");
    field.clear();
    photographer.press("newChatButton");
    photographer.take("empty");
    window.resize(420, 760);
    emit window.findChild<Sidebar*>()->chatSelected(chat);
    window.chatPage().view().setScrollPosition(0);
    photographer.take("narrow");
}

}  // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    Language language;
    QCommandLineParser parser;
    const QCommandLineOption models(QStringLiteral("models"), {}, QStringLiteral("folder"));
    const QCommandLineOption code(QStringLiteral("language"), {}, QStringLiteral("code"),
                                  QStringLiteral("en"));
    const QCommandLineOption theme(QStringLiteral("theme"), {}, QStringLiteral("name"));
    const QCommandLineOption reverse(QStringLiteral("right-to-left"));
    parser.addOptions({models, code, theme, reverse});
    parser.process(application);
    if (parser.positionalArguments().size() != 1) parser.showHelp(2);
    const QString out = parser.positionalArguments().first();
    QDir().mkpath(out);
    if (parser.isSet(reverse)) QApplication::setLayoutDirection(Qt::RightToLeft);

    const QTemporaryDir home;
    qputenv("HOKKU_HOME", home.path().toUtf8());
    auto folders = AppFolders::find(false);
    if (!folders.ok()) return 1;
    for (const QFileInfo& file : QDir(parser.value(models)).entryInfoList(QDir::Files))
        QFile::link(file.filePath(), folders->models + QLatin1Char('/') + file.fileName());
    Settings settings(folders->settingsFile);
    settings.setTheme(parser.value(theme) == QLatin1String("dark") ? ThemeChoice::dark
                                                                   : ThemeChoice::light);
    Theme::instance().apply(settings.theme(), 100);
    language.apply(parser.value(code));
    auto store = ChatStore::open({});
    auto engine = hokku::Engine::create();
    if (!store.ok() || !engine.ok()) return 1;
    const ChatId longChat = parser.isSet(reverse) ? 0 : addLongChat(**store);
    const ChatId chat =
        parser.isSet(reverse) ? addRightToLeftChat(**store) : addSampleChats(**store);
    hokku::qt::Generator generator(std::move(*engine));
    MainWindow window(
        {.folders = *folders, .settings = settings, .store = **store, .generator = generator});
    window.show();
    window.loadModel({});
    if (!QTest::qWaitFor([&] { return generator.model().has_value(); }, kPatienceMs)) return 1;
    Photographer photographer(window, out);
    if (longChat != 0) takeLongChat(window, photographer, longChat);
    takePages(window, photographer, chat);
    return 0;
}
