// SPDX-License-Identifier: Apache-2.0
#include "application/model_control.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>

#include "application/header_bar.h"
#include "conversations/sidebar.h"
#include "gui/application/window_fixture.h"
#include "gui/support/catch_qt.h"
#include "hokku/library.h"
#include "models/models_page.h"
#include "settings/settings_page.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct ControlFixture : AppFixture {
    Settings settings{folders.settingsFile};
    ModelControl control{folders.models, settings, *generator};
    QSignalSpy settled{&control, &ModelControl::settled};

    void load(const QString& path) {
        control.load(path);
        REQUIRE(settled.wait(kPatienceMs));
    }
};

/// What the bar between conversation and composer says; empty: nothing.
QString noticeOf(WindowFixture& f) {
    auto* text = f.find<QLabel>("noticeText");
    return text->isVisible() ? text->text() : QString();
}

QPushButton* noticeButton(WindowFixture& f, const char* text) {
    for (auto* button : f.find<QFrame>("notice")->findChildren<QPushButton*>())
        if (!button->isHidden() && button->text() == QLatin1String(text)) return button;
    return nullptr;
}

}  // namespace

TEST_CASE("ModelControl: a model is unloaded before its file goes", "[gui][quick]") {
    ControlFixture f;
    const QString path = f.modelFile();
    f.load(path);
    REQUIRE(f.AppFixture::control->num_models == 1);
    int numLeft = -1;
    f.control.letGo(path, [&] { numLeft = f.AppFixture::control->num_models; });
    CHECK(numLeft == -1);  // nothing waits
    REQUIRE(QTest::qWaitFor([&] { return numLeft >= 0; }, kPatienceMs));
    CHECK(numLeft == 0);
    CHECK(f.control.loadedPath().isEmpty());
    CHECK(f.settings.modelPath().isEmpty());
}

TEST_CASE("ModelControl: a load of the file ends before it goes", "[gui][quick]") {
    ControlFixture f;
    const QString other = f.modelFile("other.gguf"), path = f.modelFile();
    f.load(other);
    f.AppFixture::control->load_time = std::chrono::milliseconds(5000);
    f.control.load(path);
    QElapsedTimer clock;
    clock.start();
    bool isGone = false;
    f.control.letGo(path, [&] { isGone = true; });
    REQUIRE(QTest::qWaitFor([&] { return isGone; }, kPatienceMs));
    CHECK(clock.elapsed() < 2000);
    CHECK_FALSE(f.generator->isLoading());
    CHECK(f.control.loadedPath() == other);
}

TEST_CASE("ModelControl: a file that nobody has loaded goes at once", "[gui][quick]") {
    ControlFixture f;
    f.load(f.modelFile());
    bool isGone = false;
    f.control.letGo(f.modelFile("other.gguf"), [&] { isGone = true; });
    CHECK(isGone);
    CHECK(f.AppFixture::control->num_models == 1);
}

TEST_CASE("ModelControl: a name that is not in the library is told with what there is",
          "[gui][quick]") {
    ControlFixture f;
    QSignalSpy failed(&f.control, &ModelControl::failed);
    f.control.load(QStringLiteral("no-such-model"));
    REQUIRE(failed.size() == 1);
    const auto error = failed.first()[1].value<Error>();
    const auto own = resolve_model("no-such-model");
    REQUIRE_FALSE(own.ok());
    CHECK(error.message() == own.error().message());
    CHECK_FALSE(f.generator->isLoading());
}

TEST_CASE("MainWindow: a model that cannot be found is told with the engine's reason",
          "[gui][quick]") {
    WindowFixture f;
    f.window->loadModel(QStringLiteral("no-such-model"));
    const auto own = resolve_model("no-such-model");
    CHECK(noticeOf(f).contains(QString::fromStdString(own.error().message())));
    CHECK(f.generator->model().has_value());  // the one before stays
}

TEST_CASE("MainWindow: deleting the loaded model lets go of it first", "[gui][quick]") {
    WindowFixture f;
    auto* page = f.window->findChild<ModelsPage*>();
    REQUIRE(page != nullptr);
    int numLeft = -1;
    emit page->aboutToDelete(f.modelFile(), [&] { numLeft = f.control->num_models; });
    REQUIRE(QTest::qWaitFor([&] { return numLeft >= 0; }, kPatienceMs));
    CHECK(numLeft == 0);
    f.type("Hello");
    CHECK_FALSE(f.find<QToolButton>("sendButton")->isEnabled());
}

TEST_CASE("MainWindow: with the starter model a line says where larger ones are added",
          "[gui][quick]") {
    WindowFixture f;
    const auto isSaid = [&] {
        for (const QLabel* label : f.window->findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(QStringLiteral("starter model")))
                return label->text().contains(QStringLiteral("Ctrl+M"));
        return false;
    };
    CHECK_FALSE(isSaid());
    f.load(f.modelFile(kStarterModel.data()));
    CHECK(isSaid());
}

TEST_CASE("MainWindow: a conversation remembers its model and offers it", "[gui][quick]") {
    WindowFixture f;
    const QString first = f.modelFile(), second = f.modelFile("second.gguf");
    f.say("Hello");
    const ChatId chat = f.window->session().chat();
    CHECK(f.store->chat(chat)->modelPath == first);
    f.load(second);
    auto* sidebar = f.window->findChild<Sidebar*>();
    emit sidebar->newChatRequested(false);
    CHECK(noticeOf(f).isEmpty());
    emit sidebar->chatSelected(chat);
    CHECK(noticeOf(f).contains(QStringLiteral("fake")));
    QPushButton* button = noticeButton(f, "Load it");
    REQUIRE(button != nullptr);
    QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
    button->click();
    REQUIRE(ready.wait(kPatienceMs));
    CHECK(f.generator->model()->path == first.toStdString());

    SECTION("it says when the file is gone") {
        f.load(second);
        REQUIRE(QFile::remove(first));
        emit sidebar->chatSelected(chat);
        CHECK(noticeOf(f).contains(QStringLiteral("no longer there")));
        CHECK(noticeButton(f, "Load it") == nullptr);
        f.say("Go on");
        CHECK(f.store->chat(chat)->modelPath == second);
    }
    SECTION("going on with another one makes that the conversation's") {
        f.load(second);
        f.say("Go on");
        CHECK(f.store->chat(chat)->modelPath == second);
    }
}

TEST_CASE("MainWindow: a draft model is chosen, remembered and given up", "[gui][quick]") {
    WindowFixture f;
    std::filesystem::path given;
    f.control->on_open = [&](const LoadOptions& options) { given = options.draft_model; };
    QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
    auto* box = f.find<QComboBox>("draftBox");
    CHECK(box->currentIndex() == 0);
    const QString draft = f.modelFile("small one.gguf");
    f.window->findChild<SettingsPage*>()->chooseDraftModel(draft);
    REQUIRE(ready.wait(kPatienceMs));  // the model is loaded anew
    CHECK(given == std::filesystem::path(draft.toStdU16String()));
    CHECK(box->currentText() == QStringLiteral("small one"));
    CHECK(noticeOf(f).isEmpty());
    CHECK(Settings(f.folders.settingsFile).draftModel() == draft);

    SECTION("by choosing none") {
        box->setCurrentIndex(0);
        emit box->activated(0);
        REQUIRE(ready.wait(kPatienceMs));
    }
    SECTION("when its file is deleted") {
        bool isGone = false;
        emit f.window->findChild<ModelsPage*>()->aboutToDelete(draft, [&] { isGone = true; });
        CHECK_FALSE(isGone);  // the model has it open
        REQUIRE(QTest::qWaitFor([&] { return isGone; }, kPatienceMs));
        CHECK(f.generator->model().has_value());
    }
    SECTION("as the model itself") {
        f.load(draft);
        CHECK(given.empty());
        CHECK(f.settings->draftModel() == draft);  // for the others
        return;
    }
    CHECK(given.empty());
    CHECK(box->currentIndex() == 0);
    CHECK(f.settings->draftModel().isEmpty());
}

TEST_CASE("MainWindow: a draft model that does not fit is told, and the model goes without",
          "[gui][quick]") {
    WindowFixture f;
    QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
    f.control->refuses_draft = true;
    f.settings->setDraftModel(f.modelFile("other family.gguf"));
    REQUIRE(ready.wait(kPatienceMs));
    CHECK(noticeOf(f).contains(QStringLiteral("other family")));
    CHECK(noticeOf(f).contains(QStringLiteral("same family")));
    CHECK_FALSE(f.settings->draftModel().isEmpty());  // for a model that it fits
    // The model's own failure is told as ever.
    f.control->fail_open = 1;
    f.window->loadModel(f.modelFile("broken.gguf"));
    REQUIRE(QTest::qWaitFor([&] { return noticeOf(f).contains(QStringLiteral("broken.gguf")); },
                            kPatienceMs));
    CHECK_FALSE(noticeOf(f).contains(QStringLiteral("other family")));
}

TEST_CASE("HeaderBar: long titles give way to the model and its device", "[gui][quick]") {
    application();
    HeaderBar header;
    header.resize(700, 52);
    ModelInfo model;
    model.path = "/models/" + std::string(80, 'm') + ".gguf";
    model.device = "CPU avx512, 2 threads";
    header.setModel(model);
    header.setTitle(QString(300, QLatin1Char('W')));
    header.show();
    QTest::qWait(1);
    auto* title = header.findChild<QLabel*>(QStringLiteral("heading"));
    auto* badge = header.findChild<QLabel*>(QStringLiteral("faint"));
    auto* button = header.findChild<QToolButton*>(QStringLiteral("modelButton"));
    auto* settings = header.findChild<QToolButton*>(QStringLiteral("settingsButton"));
    for (const int width : {360, 500, 700, 1400}) {
        header.resize(width, 52);
        QTest::qWait(1);
        INFO(width);
        CHECK(header.width() == width);  // nothing asks for more
        CHECK(title->geometry().right() < badge->x());
        CHECK(badge->geometry().right() < button->x());
        CHECK(button->geometry().right() < settings->x());
        CHECK(settings->geometry().right() < width);
        CHECK(badge->width() > 20);
    }
    CHECK(badge->width() >= badge->fontMetrics().horizontalAdvance(badge->text()));
    CHECK(title->text().size() == 300);  // for screen readers
}

TEST_CASE("ModelControl: what came with the program is found where that is now", "[gui][quick]") {
    const QTemporaryDir home;
    const QString library = home.filePath(QStringLiteral("library"));
    const QString own = home.filePath(QStringLiteral("own.gguf"));
    const QString old = QStringLiteral("/nowhere/hokku/share/hokku/models/starter.gguf");
    const QString now = home.filePath(QStringLiteral("models/starter.gguf"));
    const std::filesystem::path models(home.filePath(QStringLiteral("models")).toStdU16String());
    REQUIRE(QDir(home.path()).mkdir(QStringLiteral("models")));
    for (const QString& path : {own, now}) REQUIRE(QFile(path).open(QIODevice::WriteOnly));
    CHECK(ModelControl::movedPath(old, library, models) == now);
    CHECK(ModelControl::movedPath(now, library, models) == now);
    CHECK(ModelControl::movedPath(own, library, models) == own);
    CHECK(ModelControl::movedPath(old, library, std::nullopt) == old);
    const QString gone = QStringLiteral("/nowhere/other.gguf");
    CHECK(ModelControl::movedPath(gone, library, models) == gone);
    CHECK(ModelControl::movedPath(QStringLiteral("starter"), library, models) ==
          QLatin1String("starter"));
    CHECK(ModelControl::movedPath({}, library, models).isEmpty());
}

TEST_CASE("ModelControl: what lay in the data folder is found where that is now", "[gui][quick]") {
    const QTemporaryDir home;
    const auto make = [&](const char* name, const char* content) {
        const QString path = home.filePath(QString::fromUtf8(name));
        REQUIRE(QDir().mkpath(QFileInfo(path).path()));
        QFile file(path);
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write(content);
        return path;
    };
    const QString library = home.filePath(QStringLiteral("new ä/models"));
    const QString now = make("new ä/models/maker/own.gguf", "model");
    const auto moved = [&](const QString& path) {
        return ModelControl::movedPath(path, library, std::nullopt);
    };
    const QString gone = home.filePath(QStringLiteral("old/models/maker/own.gguf"));
    CHECK(moved(gone) == now);
    CHECK(moved(now) == now);
    // A copy that was left in the old place, and another file by that name.
    CHECK(moved(make("old/models/maker/own.gguf", "MODEL")) == now);
    const QString other = make("other/models/maker/own.gguf", "another model");
    CHECK(moved(other) == other);
    // Not below a folder of models, or not there.
    const QString elsewhere = QStringLiteral("/nowhere/maker/own.gguf");
    CHECK(moved(elsewhere) == elsewhere);
    const QString unknown = QStringLiteral("/nowhere/models/unknown.gguf");
    CHECK(moved(unknown) == unknown);
}

TEST_CASE("MainWindow: after its data folder was moved a conversation finds its model",
          "[gui][quick]") {
    WindowFixture f;
    f.say("Hello");
    const ChatId chat = f.window->session().chat();
    const QString kept = QStringLiteral("/media/stick/Hokku/models/moved.gguf");
    auto record = *f.store->chat(chat);
    record.modelPath = kept;
    REQUIRE(f.store->updateChat(record).ok());
    const QString now = f.modelFile("models/moved.gguf");
    auto* sidebar = f.window->findChild<Sidebar*>();
    emit sidebar->newChatRequested(false);
    emit sidebar->chatSelected(chat);
    QPushButton* button = noticeButton(f, "Load it");
    REQUIRE(button != nullptr);
    QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
    button->click();
    REQUIRE(ready.wait(kPatienceMs));
    CHECK(f.generator->model()->path == now.toStdString());
    // With it loaded there is nothing to offer.
    emit sidebar->newChatRequested(false);
    emit sidebar->chatSelected(chat);
    CHECK(noticeOf(f).isEmpty());
}
