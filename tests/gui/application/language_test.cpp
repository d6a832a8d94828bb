// SPDX-License-Identifier: Apache-2.0
#include "settings/language.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMetaProperty>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QTextBrowser>
#include <QToolButton>

#include "chat/chat_page.h"
#include "conversations/sidebar.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"
#include "gui/translation/ts_file.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Longer than the search waits for the next key.
constexpr int kSearchDelayMs = 200;

/// Where a text is, and the text.
using Texts = QMap<QString, QString>;

void collectItems(const QAbstractItemModel& model, const QModelIndex& parent, const QString& place,
                  Texts& texts) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const QModelIndex index = model.index(row, 0, parent);
        for (const int role : {int{Qt::DisplayRole}, int{Qt::AccessibleTextRole}})
            texts[QStringLiteral("%1 row %2 role %3").arg(place).arg(row).arg(role)] =
                index.data(role).toString();
        collectItems(model, index, place + QStringLiteral(" row %1").arg(row), texts);
    }
}

void collectProperties(const QObject& object, const QString& place, Texts& texts) {
    const QMetaObject* meta = object.metaObject();
    for (int i = 0; i < meta->propertyCount(); ++i) {
        const QMetaProperty property = meta->property(i);
        // Documents are read line by line below.
        const bool isText = property.userType() == QMetaType::QString &&
                            QLatin1String(property.name()) != QLatin1String("html") &&
                            QLatin1String(property.name()) != QLatin1String("markdown");
        if (isText)
            texts[place + QLatin1Char(' ') + QLatin1String(property.name())] =
                property.read(&object).toString();
    }
}

/// All that a widget tree says, to the eye and to a screen reader.
Texts collectTexts(QWidget& root) {
    Texts texts;
    int number = 0;
    QList<QWidget*> widgets = root.findChildren<QWidget*>();
    widgets.prepend(&root);
    for (QWidget* widget : widgets) {
        // What was said to a screen reader is past.
        if (widget->objectName() == QLatin1String("announcer")) continue;
        const QString place =
            QStringLiteral("%1 %2 %3")
                .arg(number++)
                .arg(QLatin1String(widget->metaObject()->className()), widget->objectName());
        collectProperties(*widget, place, texts);
        for (const QAction* action : widget->actions())
            collectProperties(*action, place + QStringLiteral(" action"), texts);
        if (const auto* edit = qobject_cast<QTextBrowser*>(widget)) {
            int line = 0;
            for (const QString& text : edit->toPlainText().split(QLatin1Char('\n')))
                texts[place + QStringLiteral(" line %1").arg(line++)] = text;
        }
        if (const auto* box = qobject_cast<QComboBox*>(widget))
            collectItems(*box->model(), {}, place, texts);
        if (const auto* view = qobject_cast<QAbstractItemView*>(widget))
            if (view->model() != nullptr) collectItems(*view->model(), {}, place, texts);
    }
    return texts;
}

/// What English texts look like whose German is another.
QRegularExpression englishTexts() {
    QStringList patterns;
    for (const TsMessage& message : readTsFile(QStringLiteral("hokku_de.ts"))) {
        if (message.forms.contains(message.source)) continue;
        static const QRegularExpression place(QStringLiteral("%(?:\\\\?\\d+|n)"));
        QString pattern = QRegularExpression::escape(message.source);
        pattern.replace(place, QStringLiteral(".+"));
        patterns.append(pattern);
    }
    return QRegularExpression(QRegularExpression::anchoredPattern(patterns.join(QLatin1Char('|'))),
                              QRegularExpression::DotMatchesEverythingOption);
}

/// A conversation with everything that a turn can have.
void addFullChat(ChatStore& store, MainWindow& window) {
    ChatRecord chat;
    chat.firstLine = QStringLiteral("?");
    chat.isPinned = true;
    chat.folder = QStringLiteral("F");
    const auto id = store.createChat(chat);
    REQUIRE(id.ok());
    MessageRecord question{.chat = *id, .role = QStringLiteral("user"), .created = {}};
    question.content = QStringLiteral("?");
    const auto asked = store.addMessage(question);
    REQUIRE(asked.ok());
    MessageRecord reply{
        .chat = *id, .parent = *asked, .role = QStringLiteral("assistant"), .created = {}};
    reply.content = QStringLiteral("```python\n1\n```\n");
    reply.thought = QStringLiteral("…");
    const auto first = store.addMessage(reply);
    REQUIRE(first.ok());
    reply.id = *store.addMessage(reply);
    reply.state = MessageState::stopped;
    reply.statsJson = QStringLiteral(
        "{\"tokens\":1,\"tok_s\":9.5,\"ttft_ms\":1,"
        "\"reason\":\"length\"}");
    REQUIRE(store.finishMessage(reply).ok());
    auto* sidebar = window.findChild<Sidebar*>();
    REQUIRE(sidebar != nullptr);
    emit sidebar->chatSelected(*id);
}

void settle() {
    for (int i = 0; i < 5; ++i) QTest::qWait(20);
}

/// Switches to German and back and compares what the window says.
void checkSwitch(WindowFixture& f, Language& language) {
    settle();
    const Texts english = collectTexts(*f.window);
    language.apply(QStringLiteral("de"));
    settle();
    static const QRegularExpression isEnglish = englishTexts();
    const Texts german = collectTexts(*f.window);
    int numChanged = 0;
    for (auto text = german.begin(); text != german.end(); ++text) {
        INFO(text.key().toStdString() << ": " << text.value().toStdString());
        CHECK_FALSE(isEnglish.match(text.value()).hasMatch());
        numChanged += english.contains(text.value()) ? 0 : 1;
    }
    CHECK(numChanged > 50);
    language.apply(QStringLiteral("en"));
    settle();
    QStringList before = english.values(), after = collectTexts(*f.window).values();
    before.sort();
    after.sort();
    for (const QString& text : QStringList(before)) {
        if (!after.removeOne(text)) continue;
        before.removeOne(text);
    }
    CHECK(before.join(QLatin1Char('|')).toStdString() == "");
    CHECK(after.join(QLatin1Char('|')).toStdString() == "");
}

}  // namespace

TEST_CASE("Language: all that the window says changes with it", "[gui]") {
    application();
    Language language;
    language.apply(QStringLiteral("en"));
    WindowFixture f;
    SECTION("at the start") {
        checkSwitch(f, language);
    }
    SECTION("with a full conversation") {
        addFullChat(*f.store, *f.window);
        settle();
        QTest::mouseClick(f.find<QToolButton>("turn-info"), Qt::LeftButton);
        checkSwitch(f, language);
    }
    SECTION("in a temporary chat") {
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
        checkSwitch(f, language);
    }
    SECTION("while a search finds nothing") {
        QTest::keyClicks(f.find<QLineEdit>("searchField"), QStringLiteral("zzz"));
        QTest::qWait(kSearchDelayMs);
        checkSwitch(f, language);
    }
    SECTION("with a model that cannot be loaded") {
        f.control->fail_open = 1;
        QSignalSpy failed(f.generator.get(), &qt::Generator::loadFailed);
        f.window->loadModel(QStringLiteral("/nowhere/broken.gguf"));
        REQUIRE(failed.wait(kPatienceMs));
        checkSwitch(f, language);
    }
    SECTION("while a reply is written") {
        f.answer(std::string(3000, 'x'));
        f.control->step_time = std::chrono::milliseconds(5);
        QSignalSpy streamed(&f.window->session(), &ChatSession::textStreamed);
        f.type("?");
        QTest::keyClick(f.edit(), Qt::Key_Return);
        REQUIRE(streamed.wait(kPatienceMs));
        language.apply(QStringLiteral("de"));
        settle();
        static const QRegularExpression isEnglish = englishTexts();
        for (const QString& text : collectTexts(*f.window)) {
            INFO(text.toStdString());
            CHECK_FALSE(isEnglish.match(text).hasMatch());
        }
        f.window->session().stop();
    }
}

TEST_CASE("Language: numbers are written as the language does", "[gui][quick]") {
    application();
    Language language;
    language.apply(QStringLiteral("de"));
    CHECK(QLocale().toString(1234.5, 'f', 1) == QStringLiteral("1.234,5"));
    language.apply(QStringLiteral("en"));
    CHECK(QLocale().toString(1234.5, 'f', 1) == QStringLiteral("1,234.5"));
}

TEST_CASE("Language: Qt's own words are German too", "[gui][quick]") {
    application();
    Language language;
    language.apply(QStringLiteral("de"));
    CHECK(QCoreApplication::translate("QPlatformTheme", "Cancel") == QStringLiteral("Abbrechen"));
    CHECK(QKeySequence(Qt::CTRL | Qt::Key_B).toString(QKeySequence::NativeText) ==
          QStringLiteral("Strg+B"));
    language.apply(QStringLiteral("en"));
    CHECK(QCoreApplication::translate("QPlatformTheme", "Cancel") == QStringLiteral("Cancel"));
}

TEST_CASE("Language: nothing is cut off in a narrow window", "[gui][quick]") {
    application();
    Language language;
    WindowFixture f;
    f.settings->setValue(QStringLiteral("presets/unfolded"), true);
    f.openWindow();
    f.window->resize(400, 700);
    f.settings->setFontPercent(150);
    Theme::instance().apply(ThemeChoice::light, 150);
    settle();
    for (const char* code : {"en", "de"}) {
        language.apply(QLatin1String(code));
        for (const char* button : {"settingsButton", "modelButton"}) {
            f.find<QToolButton>(button)->click();
            settle();
            for (const QScrollArea* area : f.window->findChildren<QScrollArea*>()) {
                if (!area->isVisible()) continue;
                INFO(code << " " << button);
                CHECK(area->horizontalScrollBar()->maximum() == 0);
            }
        }
    }
    Theme::instance().apply(ThemeChoice::light, 100);
}

TEST_CASE("Language: a notice that is shown changes its language too", "[gui][quick]") {
    application();
    Language language;
    language.apply(QStringLiteral("en"));
    WindowFixture f;
    emit f.generator->loadFailed(
        Error{ErrorCode::bad_format, "the file does not start with GGUF but with \"x\"", "", ""});
    auto* notice = f.find<QLabel>("noticeText");
    CHECK(notice->text().endsWith(QStringLiteral("It is not a model file (GGUF)")));
    language.apply(QStringLiteral("de"));
    settle();
    CHECK(notice->text().endsWith(QStringLiteral("Das ist keine Modelldatei (GGUF)")));
    // What the session reports as well.
    emit f.window->session().noticed(
        [] { return QCoreApplication::translate("hokku::desktop::Composer", "Stop the reply"); });
    const QString german = notice->text();
    language.apply(QStringLiteral("en"));
    settle();
    CHECK(notice->text() == QStringLiteral("Stop the reply"));
    CHECK(german != notice->text());
}
