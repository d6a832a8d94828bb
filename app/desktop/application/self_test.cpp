// SPDX-License-Identifier: Apache-2.0
#include "application/self_test.h"

#include <QCoreApplication>
#include <QTextStream>
#include <QTimer>

#include "application/main_window.h"
#include "chat/chat_page.h"
#include "chat/composer.h"

namespace hokku::desktop {
namespace {

constexpr int kPatienceMs = 120'000;

}  // namespace

SelfTest::SelfTest(MainWindow& window, QObject* parent) : QObject(parent), m_window(window) {}

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
