// SPDX-License-Identifier: Apache-2.0
#include "application/reply_watch.h"

#include <QApplication>

namespace hokku::desktop {

ReplyWatch::ReplyWatch(ChatSession& session, const Settings& settings, Notifier& notifier,
                       QObject* parent)
    : QObject(parent),
      m_settings(settings),
      m_notifier(notifier),
      m_isSeen([] { return QApplication::activeWindow() != nullptr; }) {
    connect(&session, &ChatSession::busyChanged, this, [this](bool isBusy) {
        if (isBusy) m_clock.start();
    });
    connect(&session, &ChatSession::replyEnded, this, &ReplyWatch::takeEnd);
}

void ReplyWatch::takeEnd(const Turn& turn) {
    const bool isLong = m_clock.isValid() && m_clock.elapsed() >= m_leastMs;
    if (!isLong || turn.state == MessageState::stopped || m_isSeen()) return;
    if (!m_settings.notifyWhenDone()) return;
    m_notifier.tell(
        turn.state == MessageState::failed ? tr("The reply failed") : tr("The reply is finished"),
        m_title);
}

}  // namespace hokku::desktop
