// SPDX-License-Identifier: Apache-2.0
// ReplyWatch: tells the person when a reply that took its time has ended while the window was in
// the background.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <functional>

#include "application/notifier.h"
#include "chat/chat_session.h"
#include "settings/settings.h"

namespace hokku::desktop {

/// Threads: the UI thread. All that it is given must outlive it.
class ReplyWatch : public QObject {
    Q_OBJECT

  public:
    ReplyWatch(ChatSession& session, const Settings& settings, Notifier& notifier,
               QObject* parent = nullptr);
    /// Whether the person sees the window; by default whether it is the active one.
    void setIsSeen(const std::function<bool()>& isSeen) { m_isSeen = isSeen; }
    /// What a notification says of the conversation; nothing of one that leaves no trace.
    void setTitle(const QString& title) { m_title = title; }
    /// Replies that take less end before anybody has turned away.
    void setLeastMs(qint64 ms) { m_leastMs = ms; }

  private:
    void takeEnd(const Turn& turn);

    const Settings& m_settings;
    Notifier& m_notifier;
    std::function<bool()> m_isSeen;
    QString m_title;
    qint64 m_leastMs = 5000;
    QElapsedTimer m_clock;
};

}  // namespace hokku::desktop
