// SPDX-License-Identifier: Apache-2.0
// Files that are dropped on the window, wherever in it, as the system delivers them.
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QTextBrowser>

#include <sys/stat.h>

#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "gui/application/window_fixture.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

/// Whether something in the window takes it.
bool drop(QWidget* on, const QStringList& paths) {
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& path : paths) urls.append(QUrl::fromLocalFile(path));
    data.setUrls(urls);
    const QPoint middle = on->rect().center();
    QDragEnterEvent enter(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(on, &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent event(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(on, &event);
    return event.isAccepted();
}

struct DropFixture : WindowFixture {
    QString file(const char* name, const QByteArray& content) const {
        QFile file(folder.filePath(QString::fromUtf8(name)));
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write(content);
        return file.fileName();
    }
    [[nodiscard]] QWidget* transcript() const {
        return window->chatPage().view().findChild<QTextBrowser*>()->viewport();
    }
};

}  // namespace

TEST_CASE("Drop: a model is loaded, wherever in the window it is dropped", "[gui][quick]") {
    DropFixture f;
    const QString model = f.file("Modell ä.GGUF", "GGUF");
    std::filesystem::path seen;
    f.control->on_open = [&](const LoadOptions& options) { seen = options.path; };
    int number = 0;
    for (QWidget* place :
         {f.transcript(), f.edit()->viewport(), static_cast<QWidget*>(f.window.get())}) {
        INFO("place " << number++);
        seen.clear();
        QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
        CHECK(drop(place, {model}));
        REQUIRE(ready.wait(kPatienceMs));
        CHECK(QString::fromStdU16String(seen.u16string()) == model);
    }
    CHECK(f.settings->value(QStringLiteral("models/added")).toStringList() == QStringList{model});
    CHECK(f.edit()->toPlainText().isEmpty());
}

TEST_CASE("Drop: a text is put into the message, beside what was written", "[gui][quick]") {
    DropFixture f;
    const QString text = f.file("notes.txt", QStringLiteral("Notizen: 古池\n").toUtf8());
    f.type("Please read: ");
    CHECK(drop(f.transcript(), {text}));
    CHECK(f.edit()->toPlainText() == QStringLiteral("Please read: Notizen: 古池\n"));
    CHECK(f.window->session().turns().isEmpty());
}

TEST_CASE("Drop: what is neither a model nor a text is told by name", "[gui][quick]") {
    DropFixture f;
    const QString large = f.file("film.mkv", QByteArray(1 << 20, 'x'));
    const QString picture = f.file("frog.png", QByteArray("\x89PNG\r\n\x1a\n\0\0", 10));
    const QString pipe = f.folder.filePath(QStringLiteral("pipe"));
    REQUIRE(mkfifo(QFile::encodeName(pipe).constData(), 0600) == 0);
    f.type("draft");
    for (const QString& path :
         {large, picture, pipe, f.folder.path(), f.folder.filePath(QStringLiteral("gone"))}) {
        CHECK(drop(f.transcript(), {path}));
        bool isNamed = false;
        for (const QLabel* label : f.window->findChildren<QLabel*>())
            isNamed = isNamed ||
                      (label->isVisible() && label->text().contains(QFileInfo(path).fileName()));
        CHECK(isNamed);
    }
    CHECK(f.edit()->toPlainText() == QStringLiteral("draft"));
}

TEST_CASE("Drop: in the middle of a reply a model takes the place of the other", "[gui][quick]") {
    DropFixture f;
    f.answer(std::string(3000, 'x'));
    f.control->step_time = std::chrono::milliseconds(2);
    QSignalSpy streamed(&f.window->session(), &ChatSession::textStreamed);
    QSignalSpy ended(&f.window->session(), &ChatSession::replyEnded);
    f.type("Go on forever");
    QTest::keyClick(f.edit(), Qt::Key_Return);
    REQUIRE(streamed.wait(kPatienceMs));
    QSignalSpy ready(f.generator.get(), &qt::Generator::modelReady);
    CHECK(drop(f.transcript(), {f.file("other.gguf", "GGUF")}));
    REQUIRE(ready.wait(kPatienceMs));
    REQUIRE((!ended.isEmpty() || ended.wait(kPatienceMs)));
    CHECK(f.window->session().turns().last().content.startsWith(QLatin1Char('x')));
    f.control->step_time = std::chrono::milliseconds(0);
    f.answer("fine");
    f.say("And now?");
    CHECK(f.window->session().turns().last().content == QStringLiteral("fine"));
}
