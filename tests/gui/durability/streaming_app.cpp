// SPDX-License-Identifier: Apache-2.0
// The desktop app over the fake model, writing and receiving messages without an end until it is
// killed: streaming_app SEED MESSAGE_PREFIX, with $HOKKU_HOME. See kill_test.cpp.
#include <unistd.h>
#include <QApplication>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QTimer>
#include <cstdio>
#include <random>

#include "application/main_window.h"
#include "chat/chat_page.h"
#include "chat/composer.h"
#include "engine/fake_model.h"
#include "gui/durability/kill_report.h"
#include "look/theme.h"

namespace {

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

void report(const QString& line) {
    const QByteArray bytes = line.toUtf8() + '\n';
    if (write(STDOUT_FILENO, bytes.constData(), static_cast<size_t>(bytes.size())) < 0) _exit(3);
}

/// A person in a hurry: sends, edits, asks again, stops, begins new chats.
class Person : public QObject {
  public:
    Person(MainWindow& window, ChatStore& store, FakeControl& control, unsigned seed,
           const QString& prefix)
        : m_window(window), m_store(store), m_control(control), m_random(seed), m_prefix(prefix) {
        ChatSession& session = m_window.session();
        connect(&session, &ChatSession::turnAppended, this, &Person::reportStored);
        connect(&session, &ChatSession::turnsReset, this, &Person::reportStored);
        connect(&session, &ChatSession::textStreamed, this, [this] {
            const Turn reply = m_window.session().turns().last();
            report(QStringLiteral("%1 %2 %3 %4")
                       .arg(QLatin1Char(kShownLine))
                       .arg(reply.id)
                       .arg(reply.content.size())
                       .arg(monotonicMs()));
        });
        connect(&session, &ChatSession::replyEnded, this, [this] { m_next.start(upTo(120)); });
        m_next.setSingleShot(true);
        connect(&m_next, &QTimer::timeout, this, &Person::act);
        m_stop.setSingleShot(true);
        connect(&m_stop, &QTimer::timeout, &session, &ChatSession::stop);
    }
    void act() {
        ChatSession& session = m_window.session();
        if (session.isBusy()) return;
        m_control.script = answering(replyText(100u + static_cast<unsigned>(upTo(3500))));
        if (upTo(3) == 0) m_stop.start(upTo(1500));
        const QVector<Turn> turns = session.turns();
        const int choice = turns.size() < 2 ? 0 : upTo(9);
        if (choice == 7) return session.regenerate(turns.last().id);
        if (choice == 8) return session.edit(session.lastUserMessage(), nextText());
        if (choice == 9) m_window.chatPage().open(m_store, 0);
        m_window.chatPage().composer().setText(nextText());
        auto* edit = m_window.findChild<QPlainTextEdit*>(QStringLiteral("messageEdit"));
        QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
        QApplication::sendEvent(edit, &enter);
    }

  private:
    int upTo(int most) { return std::uniform_int_distribution<int>(0, most)(m_random); }
    QString nextText() { return QStringLiteral("%1-%2 蛙").arg(m_prefix).arg(++m_count); }
    void reportStored() {
        const MessageId id = m_window.session().lastUserMessage();
        if (id == 0 || id == m_reported) return;
        m_reported = id;
        report(QStringLiteral("%1 %2 %3")
                   .arg(QLatin1Char(kStoredLine))
                   .arg(id)
                   .arg(m_window.session().lastUserText()));
    }

    MainWindow& m_window;
    ChatStore& m_store;
    FakeControl& m_control;
    std::mt19937 m_random;
    QString m_prefix;
    int m_count = 0;
    MessageId m_reported = 0;
    QTimer m_next, m_stop;
};

}  // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    if (argc != 3) return 2;
    Theme::instance().apply(ThemeChoice::light, 100);
    const auto folders = AppFolders::find(false);
    if (!folders.ok()) return 2;
    Settings settings(folders->settingsFile);
    auto store = ChatStore::open(folders->chatsFile());
    if (!store.ok()) {
        std::fprintf(stderr, "%s\n", store.error().message().c_str());
        return 2;
    }
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 1 << 17;
    control->max_step_tokens = 4096;
    control->step_time = std::chrono::milliseconds(1);
    control->chat_template =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}";
    qt::Generator generator(make_fake_engine(control));
    MainWindow window(
        {.folders = *folders, .settings = settings, .store = **store, .generator = generator});
    window.show();
    Person person(window, **store, *control, static_cast<unsigned>(std::atoi(argv[1])),
                  QString::fromUtf8(argv[2]));
    QObject::connect(
        &generator, &qt::Generator::modelReady, &person,
        [&person] {
            report(QString(QLatin1Char(kReadyLine)));
            person.act();
        },
        Qt::SingleShotConnection);
    window.loadModel(QStringLiteral("./fake.gguf"));
    return QApplication::exec();
}
