// SPDX-License-Identifier: Apache-2.0
#include "application/self_test.h"

#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QTextStream>
#include <QTimer>

#ifdef Q_OS_LINUX
#include <unistd.h>

#include <ctime>
#endif

#include "application/main_window.h"
#include "chat/chat_page.h"
#include "chat/composer.h"

namespace hokku::desktop {
namespace {

constexpr int kPatienceMs = 120'000;

/// Since the process began, to 10 ms; -1 where the system does not tell.
qint64 processAgeMs() {
#ifdef Q_OS_LINUX
    QFile stat(QStringLiteral("/proc/self/stat"));
    if (!stat.open(QIODevice::ReadOnly)) return -1;
    // Behind the name, which may hold anything; the start is the 22nd value, proc(5).
    const QByteArray text = stat.readAll();
    const QList<QByteArray> values = text.mid(text.lastIndexOf(')') + 2).split(' ');
    constexpr qsizetype kStart = 19;
    timespec now{};
    if (values.size() <= kStart || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return -1;
    constexpr qint64 kMsPerS = 1000, kNsPerMs = 1'000'000;
    return now.tv_sec * kMsPerS + now.tv_nsec / kNsPerMs -
           values[kStart].toLongLong() * kMsPerS / sysconf(_SC_CLK_TCK);
#else
    return -1;
#endif
}

}  // namespace

SelfTest::SelfTest(MainWindow& window, QObject* parent) : QObject(parent), m_window(window) {
    qApp->installEventFilter(this);
}

bool SelfTest::eventFilter(QObject* watched, QEvent* event) {
    const auto* edit = qobject_cast<MessageEdit*>(watched->parent());
    if (m_windowMs < 0 && event->type() == QEvent::Paint && edit != nullptr && edit->isEnabled()) {
        m_windowMs = 0;
        qApp->removeEventFilter(this);
        // What is painted is shown before the next turn of the event loop.
        QTimer::singleShot(0, this, [this] { m_windowMs = processAgeMs(); });
    }
    return QObject::eventFilter(watched, event);
}

void SelfTest::start() {
    QTimer::singleShot(kPatienceMs, this,
                       [this] { end(false, QStringLiteral("it took more than two minutes")); });
    qt::Generator& generator = m_window.generator();
    connect(&generator, &qt::Generator::loadFailed, this,
            [this](const Error& error) { end(false, QString::fromStdString(error.message())); });
    if (generator.model()) return sendFirst();
    if (!generator.isLoading()) return end(false, QStringLiteral("no model was found"));
    connect(&generator, &qt::Generator::modelReady, this, &SelfTest::sendFirst,
            Qt::SingleShotConnection);
}

void SelfTest::sendFirst() {
    QTextStream(stderr) << QStringLiteral("selftest: window after %1 ms, model after %2 ms")
                               .arg(m_windowMs)
                               .arg(processAgeMs())
                        << Qt::endl;
    m_window.newChat(true);  // The user's list of chats stays as it is.
    m_window.session().setMaxTokens(32);
    connect(&m_window.session(), &ChatSession::replyEnded, this, &SelfTest::checkFirst,
            Qt::SingleShotConnection);
    m_window.chatPage().composer().setText(QStringLiteral("Write a haiku about autumn rain."));
    emit m_window.chatPage().composer().sendRequested(m_window.chatPage().composer().text());
}

void SelfTest::checkFirst() {
    const QVector<Turn> turns = m_window.session().turns();
    if (turns.size() != 2 || turns.last().content.trimmed().isEmpty())
        return end(false, QStringLiteral("the first reply is empty: ") + turns.last().error);
    QTimer::singleShot(0, this, &SelfTest::sendAndStop);
}

void SelfTest::sendAndStop() {
    ChatSession& session = m_window.session();
    session.setMaxTokens(0);
    connect(&session, &ChatSession::replyEnded, this, &SelfTest::checkStopped,
            Qt::SingleShotConnection);
    connect(&session, &ChatSession::textStreamed, &session, &ChatSession::stop,
            Qt::SingleShotConnection);
    session.send(QStringLiteral("Tell me a long story about the sea."));
}

void SelfTest::checkStopped() {
    const Turn reply = m_window.session().turns().last();
    const bool isStopped = reply.state == MessageState::stopped && !reply.content.isEmpty();
    end(isStopped || reply.state == MessageState::complete, QStringLiteral("stopping failed"));
}

void SelfTest::end(bool isGood, const QString& text) {
    QTextStream(stderr) << (isGood ? QStringLiteral("selftest: passed")
                                   : QStringLiteral("selftest: failed: ") + text)
                        << Qt::endl;
    QCoreApplication::exit(isGood ? 0 : 1);
}

}  // namespace hokku::desktop
