// SPDX-License-Identifier: Apache-2.0
// ChatView: the scrolling column that shows the turns of a conversation and the reply that is
// being written. It renders and reports wishes; it changes no conversation itself.
#pragma once

#include <QUrl>
#include <QVector>
#include <QWidget>
#include <memory>

#include "chat/transcript.h"

namespace hokku::desktop {

enum class TurnAction;

/// One text document for all turns, so that a selection crosses them. While a reply streams only
/// the tail of its Markdown is laid out again. Follows the text only while it is at the bottom.
/// Never loads anything: images and links in the text cause no request.
///
/// Threads: the UI thread.
class ChatView : public QWidget {
    Q_OBJECT

  public:
    explicit ChatView(QWidget* parent = nullptr);
    ~ChatView() override;

    void setTurns(const QVector<Turn>& turns);
    void appendTurn(const Turn& turn);
    /// Replaces the turn of the same id.
    void updateTurn(const Turn& turn);
    /// Text that a reply goes on with: of the last turn, which has the state `streaming`.
    void streamText(const QString& text);
    void streamThought(const QString& text);

    /// How long turns that are not seen yet are laid out at a time; 0: one step. 12 ms by itself.
    void setSliceMs(int milliseconds);

    /// Shown while there are no turns: what to do next, in one line each.
    void setEmptyState(const QString& title, const QString& hint);
    [[nodiscard]] double scrollPosition() const;  ///< 0 the top, 1 the bottom.
    void setScrollPosition(double position);
    void scrollToTurn(MessageId id);
    void copySelection(bool asMarkdown) const;
    [[nodiscard]] QString selectedText(bool asMarkdown) const;

  signals:
    void scrolled();  ///< By the person.
    void copyRequested(hokku::desktop::MessageId id);
    void editRequested(hokku::desktop::MessageId id);
    void regenerateRequested(hokku::desktop::MessageId id);
    void continueRequested(hokku::desktop::MessageId id);
    void deleteRequested(hokku::desktop::MessageId id);
    void versionRequested(hokku::desktop::MessageId id, int step);
    /// After the person has seen the target and agreed.
    void linkActivated(const QUrl& url);

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void runAction(MessageId id, TurnAction action);
    void showTarget(const QUrl& url);
    void askToOpen(const QUrl& url);
    void updateTheme();
    void retranslate();

    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
