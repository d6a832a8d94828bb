// SPDX-License-Identifier: Apache-2.0
#include "application/preset_control.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QJsonDocument>
#include <QLabel>
#include <QMenu>

#include "chat/chat_page.h"
#include "conversations/sidebar.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Fixture : WindowFixture {
    void choose(const char* name) {
        for (QAction* action : find<PresetButton>("presetButton")->menu()->actions())
            if (action->text() == QLatin1String(name)) return action->trigger();
        FAIL("no preset " << name);
    }
    QString chosen() { return find<PresetButton>("presetButton")->text(); }
    void open(ChatId chat) { emit window->findChild<Sidebar*>()->chatSelected(chat); }
    void startNew() { emit window->findChild<Sidebar*>()->newChatRequested(false); }
    QByteArray exported(ChatId id) {
        const auto content =
            window->findChild<Sidebar*>()->exported(*store->chat(id), ExportFormat::json);
        REQUIRE(content.ok());
        return *content;
    }
    /// The text that the model reads before the reply to `message`.
    std::string promptOf(const char* message) {
        std::string prompt;
        control->on_sequence = [&](std::span<const int32_t> history) {
            if (!prompt.empty() || history.back() != fake_token::assistant) return;
            for (const int32_t token : history)
                if (token < 256) prompt.push_back(static_cast<char>(token));
        };
        say(message);
        control->on_sequence = nullptr;
        return prompt;
    }
};

}  // namespace

TEST_CASE("MainWindow: each conversation has its own preset and keeps it", "[gui][quick]") {
    Fixture f;
    CHECK(f.chosen() == QStringLiteral("Standard"));
    f.choose("Verse");
    CHECK(f.promptOf("A haiku").find("You are a poet") != std::string::npos);
    const ChatId verse = f.window->session().chat();
    CHECK(f.store->chat(verse)->preset == QStringLiteral(":verse"));

    f.startNew();
    CHECK(f.chosen() == QStringLiteral("Standard"));
    CHECK(f.promptOf("A letter").find("poet") == std::string::npos);
    f.open(verse);
    CHECK(f.chosen() == QStringLiteral("Verse"));
    CHECK(f.promptOf("Another").find("You are a poet") != std::string::npos);

    // In the middle of a conversation, too, and after a restart.
    f.choose("Precise");
    CHECK(f.promptOf("And now").find("poet") == std::string::npos);
    f.openStore();
    f.openWindow();
    f.open(verse);
    CHECK(f.chosen() == QStringLiteral("Precise"));
}

TEST_CASE("MainWindow: an exported conversation takes its preset's prompt along", "[gui][quick]") {
    Fixture f;
    f.choose("Verse");
    f.say("A haiku");
    const ChatId verse = f.window->session().chat();
    const QString prompt = QJsonDocument::fromJson(f.exported(verse))[u"system_prompt"].toString();
    CHECK(prompt.startsWith(QStringLiteral("You are a poet")));
    // Where the preset is another one, the model is still told what the file says.
    const auto imported = importChat(*f.store, f.exported(verse), QStringLiteral("verse.json"));
    REQUIRE(imported.ok());
    CHECK(f.store->chat(*imported)->preset.isEmpty());
    CHECK(f.store->chat(*imported)->systemPrompt == prompt);
    f.open(*imported);
    CHECK(f.chosen() == QStringLiteral("Standard"));
    CHECK(f.promptOf("Another").find("You are a poet") != std::string::npos);
    // A prompt of the chat's own goes before that of its preset, in the next file as well.
    ChatRecord own = *f.store->chat(verse);
    own.systemPrompt = QStringLiteral("Be brief.");
    REQUIRE(f.store->updateChat(own).ok());
    CHECK(QJsonDocument::fromJson(f.exported(verse))[u"system_prompt"].toString() ==
          QStringLiteral("Be brief."));
}

TEST_CASE("MainWindow: what is changed in a preset holds for the next reply", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    f.find<QPlainTextEdit>("systemPromptEdit")->setPlainText(QStringLiteral("Rhyme."));
    CHECK(f.promptOf("Again").find("Rhyme.") != std::string::npos);
    // A preset that this conversation does not use changes nothing here.
    auto* box = f.find<QComboBox>("presetBox");
    box->setCurrentIndex(box->findData(QStringLiteral(":precise")));
    emit box->activated(box->currentIndex());
    f.find<QPlainTextEdit>("systemPromptEdit")->setPlainText(QStringLiteral("Other."));
    CHECK(f.promptOf("Once more").find("Other.") == std::string::npos);
}

TEST_CASE("MainWindow: a preset that is gone is told, and the default is used", "[gui][quick]") {
    Fixture f;
    ChatRecord record;
    record.firstLine = QStringLiteral("Old");
    record.preset = QStringLiteral("Lost");
    const auto id = f.store->createChat(record);
    REQUIRE(id.ok());
    f.open(*id);
    CHECK(f.chosen() == QStringLiteral("Standard"));
    CHECK(f.find<QLabel>("noticeText")->text().contains(QStringLiteral("Lost")));
}

TEST_CASE("MainWindow: a title given in the sidebar survives what is typed", "[gui][quick]") {
    Fixture f;
    f.say("Hello");
    ChatRecord record = *f.store->chat(f.window->session().chat());
    record.title = QStringLiteral("Renamed");
    record.isPinned = true;
    REQUIRE(f.store->updateChat(record).ok());
    f.window->session().setDraft(QStringLiteral("half a"));
    const auto stored = f.store->chat(record.id);
    CHECK(stored->title == QStringLiteral("Renamed"));
    CHECK(stored->isPinned);
    CHECK(stored->draft == QStringLiteral("half a"));
    CHECK(f.find<QLabel>("heading")->text() == QStringLiteral("Renamed"));
}
