// SPDX-License-Identifier: Apache-2.0
// A whole session with the starter model, as a person has it.
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeView>

#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "gui/end_to_end/starter_app.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

QString shownText(StarterApp& app) {
    return app.window->chatPage().view().findChild<QTextBrowser*>()->toPlainText();
}

bool isWhole(const QString& text) {
    return !text.trimmed().isEmpty() && !text.contains(QChar::ReplacementCharacter);
}

/// What a restart must find again.
struct Remembered {
    ChatId chat;
    QVector<QPair<QString, QString>> turns;  ///< Role and text.
    static Remembered of(StarterApp& app) {
        Remembered remembered{app.session().chat(), {}};
        for (const Turn& turn : app.turns()) remembered.turns.append({turn.role, turn.content});
        return remembered;
    }
};

}  // namespace

TEST_CASE("The app with the starter model: a whole session, and all of it after a restart",
          "[gui][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("the starter model is not there");
    StarterApp app(*model);
    app.start();
    app.load({});  // as on the first start: nothing chosen
    CHECK(QFileInfo(app.settings->modelPath()).fileName() ==
          QString::fromStdString(model->filename().string()));
    bool isDeviceShown = false;
    for (const QLabel* label : app.window->findChildren<QLabel*>())
        isDeviceShown =
            isDeviceShown || (label->isVisible() && label->text().startsWith(QLatin1String("CPU")));
    CHECK(isDeviceShown);

    // Type; the reply streams.
    app.session().setMaxTokens(48);
    QSignalSpy streamed(&app.session(), &ChatSession::textStreamed);
    const Turn haiku = app.say(QStringLiteral("Write a haiku about autumn rain."));
    CHECK(isWhole(haiku.content));
    CHECK(streamed.size() > 1);
    CHECK(haiku.state == MessageState::complete);
    CHECK_FALSE(haiku.details.isEmpty());
    CHECK(app.edit()->toPlainText().isEmpty());
    CHECK(shownText(app).contains(QStringLiteral("Write a haiku about autumn rain.")));
    CHECK(shownText(app).contains(haiku.content.left(10)));

    // Ask again: a version beside the first.
    const Turn second = app.replyTo([&] { app.session().regenerate(haiku.id); });
    CHECK(isWhole(second.content));
    CHECK(second.version == 2);
    CHECK(second.numVersions == 2);
    app.session().showVersion(second.id, -1);
    CHECK(app.last().content == haiku.content);

    // Up edits the message; what was said before stays as a version.
    app.edit()->setFocus();
    QTest::keyClick(app.edit(), Qt::Key_Up);
    CHECK(app.edit()->toPlainText() == QStringLiteral("Write a haiku about autumn rain."));
    app.edit()->clear();
    const Turn edited = app.say(QStringLiteral("Name three rivers of Europe."));
    CHECK(isWhole(edited.content));
    REQUIRE(app.turns().size() == 2);
    CHECK(app.turns().first().numVersions == 2);

    // Stop a long one with Esc; go on with it; say something after it.
    app.session().setMaxTokens(0);
    const Turn stopped = app.replyTo([&] {
        QSignalSpy pieces(&app.session(), &ChatSession::textStreamed);
        app.send(QStringLiteral("Tell me a very long story about the sea and the wind."));
        while (pieces.size() < 3) REQUIRE(pieces.wait(kReplyPatienceMs));
        app.press(Qt::Key_Escape);
    });
    CHECK(isWhole(stopped.content));
    CHECK(stopped.state == MessageState::stopped);
    app.session().setMaxTokens(24);
    const Turn continued = app.replyTo([&] { app.session().continueReply(stopped.id); });
    CHECK(continued.content.startsWith(stopped.content));
    CHECK(continued.content.size() > stopped.content.size());
    CHECK(isWhole(app.say(QStringLiteral("Thank you. And the moon?")).content));
    const Remembered first = Remembered::of(app);
    REQUIRE(first.turns.size() == 6);

    // A second conversation; the pages.
    app.press(Qt::Key_N, Qt::ControlModifier);
    CHECK(app.turns().isEmpty());
    app.press(Qt::Key_M, Qt::ControlModifier);
    app.press(Qt::Key_Comma, Qt::ControlModifier);
    app.press(Qt::Key_Escape);
    CHECK(isWhole(app.say(QStringLiteral("What is a zygomorphic flower?")).content));
    QTest::keyClicks(app.edit(), QStringLiteral("half a thou"));
    QTest::qWait(600);  // drafts are stored a moment after the last key
    const Remembered other = Remembered::of(app);
    CHECK(other.chat != first.chat);

    // Search finds the first by what was said in it.
    const auto searchFor = [&](const char* words, ChatId chat) {
        app.press(Qt::Key_K, Qt::ControlModifier);
        auto* field = app.find<QLineEdit>("searchField");
        CHECK(field->hasFocus());
        field->clear();
        QTest::keyClicks(field, QString::fromUtf8(words));
        auto* results = app.find<QListWidget>("searchResults");
        REQUIRE(QTest::qWaitFor([&] { return results->count() > 0; }, kReplyPatienceMs));
        QTest::keyClick(field, Qt::Key_Return);
        results->setCurrentRow(0);
        QTest::keyClick(results, Qt::Key_Return);
        REQUIRE(QTest::qWaitFor([&] { return app.session().chat() == chat; }, kReplyPatienceMs));
        field->clear();
    };
    searchFor("rivers europe", first.chat);

    app.stop();
    app.start();
    app.load(app.settings->modelPath());
    auto* tree = app.find<QTreeView>("conversationTree");
    REQUIRE(QTest::qWaitFor([&] { return tree->model()->rowCount() == 2; }, kReplyPatienceMs));
    for (const Remembered& remembered : {first, other}) {
        bool isListed = false;
        for (int row = 0; row < 2 && !isListed; ++row) {
            tree->setCurrentIndex(tree->model()->index(row, 0));
            QTest::keyClick(tree, Qt::Key_Return);
            isListed = app.session().chat() == remembered.chat;
        }
        REQUIRE(isListed);
        CHECK((Remembered::of(app).turns == remembered.turns));
        CHECK(shownText(app).contains(remembered.turns.first().second));
    }
    CHECK(app.edit()->toPlainText() == QStringLiteral("half a thou"));
    searchFor("zygomorph", other.chat);
    // The versions are there too, and the conversation goes on.
    searchFor("autumn rain", first.chat);
    const MessageId question = app.turns().first().id;
    CHECK(app.turns().first().numVersions == 2);
    app.session().showVersion(question, -1);
    CHECK(app.last().content == second.content);  // its newest reply
    CHECK(app.last().numVersions == 2);
    app.session().setMaxTokens(16);
    CHECK(isWhole(app.say(QStringLiteral("One more line, please.")).content));
}
