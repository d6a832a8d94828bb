// SPDX-License-Identifier: Apache-2.0
// Opens the real window over sample conversations and saves pictures of its pages:
//   take_pictures OUT [--models FOLDER] [--language de] [--theme dark] [--right-to-left] [--docs]
// With --docs those of docs/images (QT_SCALE_FACTOR=1.5, fonts Inter and Noto). The starter model
// must be installed.
#include <QApplication>
#include <QComboBox>
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
constexpr QSize kNarrow(420, 820);

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
    void open(ChatId chat, double scrollPosition) {
        emit m_window.findChild<Sidebar*>()->chatSelected(chat);
        m_window.chatPage().view().setScrollPosition(scrollPosition);
    }
    void search(const char* text) {
        find<QLineEdit>("searchField").setText(QString::fromUtf8(text));
    }
    void choose(const char* box, int index) {
        find<QComboBox>(box).setCurrentIndex(index);
        emit find<QComboBox>(box).activated(index);
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
    photographer.open(chat, 1);
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
    photographer.search("rain");
    photographer.take("search");
    photographer.search("");
    photographer.press("newChatButton");
    photographer.take("empty");
    window.resize(kNarrow);
    photographer.press("settingsButton");
    photographer.takeAll("narrow-settings");
    photographer.press("settingsButton");
    photographer.press("modelButton");
    photographer.takeAll("narrow-models");
    photographer.press("modelButton");
    photographer.open(chat, 0);
    photographer.take("narrow");
}

/// The pictures of docs/images.
void takeDocs(MainWindow& window, Photographer& photographer, const SampleChats& chats) {
    photographer.open(chats.poem, 0);
    auto& message = photographer.find<QPlainTextEdit>("messageEdit");
    message.setPlainText(QStringLiteral("Now one about the first frost, with a crow in it."));
    message.moveCursor(QTextCursor::End);
    photographer.take("desktop-light");
    message.clear();
    photographer.search("rain");
    photographer.take("desktop-search");
    photographer.search("");
    photographer.press("settingsButton");
    photographer.choose("presetBox", 2);
    photographer.take("desktop-settings");
    photographer.choose("presetBox", 0);
    photographer.press("settingsButton");
    photographer.press("modelButton");
    photographer.take("desktop-models");
    photographer.press("modelButton");
    Theme::instance().apply(ThemeChoice::dark, 100);
    photographer.open(chats.code, 0);
    photographer.take("desktop-dark");
    Theme::instance().apply(ThemeChoice::light, 100);
    window.resize(kNarrow);
    photographer.open(chats.poem, 0);
    photographer.take("desktop-narrow");
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
    const QCommandLineOption docs(QStringLiteral("docs"));
    parser.addOptions({models, code, theme, reverse, docs});
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
    const ChatId longChat = addLongChat(**store);
    const ChatId mirroredChat = parser.isSet(reverse) ? addRightToLeftChat(**store) : 0;
    const SampleChats chats = parser.isSet(reverse) ? SampleChats() : addSampleChats(**store);
    if (parser.isSet(docs) && !(*store)->deleteChat(longChat).ok()) return 1;
    hokku::qt::Generator generator(std::move(*engine));
    MainWindow window(
        {.folders = *folders, .settings = settings, .store = **store, .generator = generator});
    window.show();
    window.loadModel({});
    if (!QTest::qWaitFor([&] { return generator.model().has_value(); }, kPatienceMs)) return 1;
    Photographer photographer(window, out);
    if (parser.isSet(docs)) {
        takeDocs(window, photographer, chats);
        return 0;
    }
    takeLongChat(window, photographer, longChat);
    takePages(window, photographer, parser.isSet(reverse) ? mirroredChat : chats.code);
    return 0;
}
