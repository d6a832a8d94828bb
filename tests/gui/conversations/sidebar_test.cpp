// SPDX-License-Identifier: Apache-2.0
// What can be done with a conversation in the sidebar, by its menu and by keys.
#include "conversations/sidebar.h"

#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QInputDialog>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>

#include "gui/conversations/store_scratch.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Fixture {
    QApplication& app = application();
    QTemporaryDir folder;
    std::unique_ptr<ChatStore> store = openStore({});
    ChatId first = chatOf("A letter"), second = chatOf("A poem");
    Sidebar sidebar{*store};
    QTreeView& tree = *sidebar.findChild<QTreeView*>(QStringLiteral("conversationTree"));
    QStringList notices;

    Fixture() {
        QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
        QObject::connect(&sidebar, &Sidebar::noticed, &sidebar,
                         [this](const NoticeWords& words) { notices.append(words()); });
        sidebar.resize(260, 500);
        sidebar.show();
        QTest::qWait(1);
    }
    ChatId chatOf(const char* text) const {
        const ChatId id = addChat(*store, QString::fromUtf8(text));
        const MessageId question = addMessage(*store, id, 0, kUser, QString::fromUtf8(text));
        addMessage(*store, id, question, kAssistant, QStringLiteral("Here it is."));
        return id;
    }
    [[nodiscard]] QModelIndex find(const char* title, const QModelIndex& parent = {}) const {
        const QAbstractItemModel& model = *tree.model();
        for (int row = 0; row < model.rowCount(parent); ++row) {
            const QModelIndex index = model.index(row, 0, parent);
            if (index.data().toString() == QString::fromUtf8(title)) return index;
            const QModelIndex below = find(title, index);
            if (below.isValid()) return below;
        }
        return {};
    }
    /// Chooses from the menu of a conversation, "Folder/New folder…" for one in a submenu, and
    /// answers the dialog that follows, if there is one.
    void choose(const char* title, const QString& path, const QString& answer = {}) {
        const QModelIndex index = find(title);
        REQUIRE(index.isValid());
        bool isChosen = false;
        // Two, as a timer waits for the end of what it has begun.
        QTimer timer, replies;
        QObject::connect(&replies, &QTimer::timeout, &replies, [&] { reply(answer); });
        replies.start(1);
        QObject::connect(&timer, &QTimer::timeout, &timer, [&] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (isChosen || menu == nullptr) return;
            isChosen = true;
            QAction* action = nullptr;
            for (const QString& part : path.split(QLatin1Char('/'))) {
                if (action != nullptr) menu = action->menu();
                REQUIRE(menu != nullptr);
                action = nullptr;
                for (QAction* candidate : menu->actions())
                    if (candidate->text() == part) action = candidate;
                REQUIRE(action != nullptr);
            }
            QMenu* root = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            root->close();
            action->trigger();
        });
        timer.start(1);
        emit tree.customContextMenuRequested(tree.visualRect(index).center());
        QTest::qWait(20);
        CHECK(isChosen);
    }
    static void reply(const QString& answer) {
        QWidget* dialog = QApplication::activeModalWidget();
        if (auto* input = qobject_cast<QInputDialog*>(dialog)) {
            input->setTextValue(answer);
            input->accept();
        } else if (auto* files = qobject_cast<QFileDialog*>(dialog)) {
            files->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(answer);
            QTest::keyClick(files->findChild<QLineEdit*>(QStringLiteral("fileNameEdit")),
                            Qt::Key_Return);
        }
    }
    [[nodiscard]] QByteArray read(const QString& path) const {
        QFile file(path);
        REQUIRE(file.open(QIODevice::ReadOnly));
        return file.readAll();
    }
};

}  // namespace

TEST_CASE("Sidebar: a conversation is renamed, pinned and put into a folder", "[gui][quick]") {
    Fixture f;
    f.choose("A letter", QStringLiteral("Rename…"), QStringLiteral("Für Großmutter"));
    CHECK(f.store->chat(f.first)->title == QStringLiteral("Für Großmutter"));
    CHECK(f.find("Für Großmutter").isValid());
    f.choose("Für Großmutter", QStringLiteral("Pin"));
    CHECK(f.store->chat(f.first)->isPinned);
    f.choose("Für Großmutter", QStringLiteral("Unpin"));
    CHECK_FALSE(f.store->chat(f.first)->isPinned);
    f.choose("A poem", QStringLiteral("Move to folder/New folder…"), QStringLiteral("Verse"));
    CHECK(f.store->chat(f.second)->folder == QStringLiteral("Verse"));
    CHECK(f.find("A poem").parent().data().toString() == QStringLiteral("Verse"));
    f.choose("Für Großmutter", QStringLiteral("Move to folder/Verse"));
    CHECK(f.store->chat(f.first)->folder == QStringLiteral("Verse"));
    f.choose("A poem", QStringLiteral("Move to folder/No folder"));
    CHECK(f.store->chat(f.second)->folder.isEmpty());
    CHECK(f.notices.isEmpty());
}

TEST_CASE("Sidebar: a conversation is exported in three formats, and comes back", "[gui][quick]") {
    Fixture f;
    const auto path = [&](const char* name) { return f.folder.filePath(QString::fromUtf8(name)); };
    f.choose("A poem", QStringLiteral("Export/Markdown…"), path("gedicht ä.md"));
    f.choose("A poem", QStringLiteral("Export/Plain text…"), path("poem.txt"));
    f.choose("A poem", QStringLiteral("Export/JSON, with all versions…"), path("poem.json"));
    for (const char* name : {"gedicht ä.md", "poem.txt", "poem.json"}) {
        const QByteArray content = f.read(path(name));
        CHECK(content.contains("A poem"));
        CHECK(content.contains("Here it is."));
    }
    // Where it cannot be written that is said.
    f.choose("A poem", QStringLiteral("Export/Plain text…"), QStringLiteral("/proc/poem.txt"));
    REQUIRE(f.notices.size() == 1);
    CHECK(f.notices.first().contains(QStringLiteral("poem.txt")));
    f.notices.clear();

    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, &timer, [&] { Fixture::reply(path("poem.json")); });
    timer.start(1);
    ChatId opened = 0;
    QObject::connect(&f.sidebar, &Sidebar::chatSelected, &f.sidebar,
                     [&](ChatId id) { opened = id; });
    auto* menuButton = f.sidebar.findChild<QToolButton*>(QStringLiteral("conversationsMenuButton"));
    for (QAction* action : menuButton->menu()->actions())
        if (action->text() == QStringLiteral("Import…")) action->trigger();
    REQUIRE(opened != 0);
    CHECK(opened != f.second);
    REQUIRE(f.store->messages(opened)->size() == 2);
    CHECK(f.store->messages(opened)->last().content == QStringLiteral("Here it is."));
}

TEST_CASE("Sidebar: Delete takes a conversation away, and that can be undone", "[gui][quick]") {
    Fixture f;
    std::function<void()> undo;
    QString title;
    QObject::connect(&f.sidebar, &Sidebar::deleted, &f.sidebar,
                     [&](const QString& name, const std::function<void()>& action) {
                         title = name;
                         undo = action;
                     });
    f.tree.setFocus();
    f.tree.setCurrentIndex(f.find("A letter"));
    QTest::keyClick(&f.tree, Qt::Key_Delete);
    QTest::qWait(20);
    CHECK(title == QStringLiteral("A letter"));
    CHECK_FALSE(f.find("A letter").isValid());
    REQUIRE(undo);
    undo();
    QTest::qWait(20);
    CHECK(f.find("A letter").isValid());
    CHECK(f.store->messages(f.first)->size() == 2);
}

TEST_CASE("Sidebar: what is found is listed with its words, and leads to the message",
          "[gui][quick]") {
    Fixture f;
    auto* field = f.sidebar.findChild<QLineEdit*>(QStringLiteral("searchField"));
    auto* results = f.sidebar.findChild<QListWidget*>(QStringLiteral("searchResults"));
    field->setText(QStringLiteral("here"));
    REQUIRE(QTest::qWaitFor([&] { return results->count() == 2; }, 5000));
    CHECK(results->item(0)
              ->data(Qt::AccessibleTextRole)
              .toString()
              .contains(QStringLiteral("Here it is.")));
    ChatId chat = 0;
    MessageId message = 0;
    QObject::connect(&f.sidebar, &Sidebar::messageSelected, &f.sidebar,
                     [&](ChatId inChat, MessageId id) {
                         chat = inChat;
                         message = id;
                     });
    results->setCurrentRow(0);
    QTest::keyClick(results, Qt::Key_Return);
    CHECK(chat != 0);
    CHECK(f.store->messages(chat)->last().id == message);
}
