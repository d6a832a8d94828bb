// SPDX-License-Identifier: Apache-2.0
// Announcer: tells screen readers what is new while the focus is elsewhere, above all the text of
// a reply, block by block as it is finished.
#pragma once

#include <QStringList>
#include <QTimer>
#include <QWidget>

#include "chat/markdown_parser.h"

namespace hokku::desktop {

/// Not seen. Its accessible name is what was said last; each time it is shown anew as a
/// notification, which screen readers read out.
///
/// Threads: the UI thread.
class Announcer : public QWidget {
    Q_OBJECT

  public:
    explicit Announcer(QWidget* parent = nullptr);

    void say(const QString& text);
    /// More text of a reply, as Markdown: says the blocks that are whole now.
    void read(const QString& text);
    /// Says the rest of the reply. What follows is another one.
    void finish();

  signals:
    void said(const QString& text);

  private:
    void sayChunk(qsizetype chunk);
    void sayWaiting();

    MarkdownChunks m_chunks;
    MarkdownContext m_context;
    qsizetype m_numSaid = 0;  ///< Chunks of the reply.
    QStringList m_waiting;
    QTimer m_timer;
};

}  // namespace hokku::desktop
