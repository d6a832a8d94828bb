// SPDX-License-Identifier: Apache-2.0
// ChatOverlays: the small buttons that lie on the transcript, only for what is seen: the actions
// of turns and the copy buttons of code.
#pragma once

#include <QObject>
#include <QPoint>
#include <QPointer>
#include <QVector>

#include "chat/turn_actions.h"

namespace hokku::desktop {

class QuietButton;
class TranscriptBrowser;
class TranscriptDocument;

class ChatOverlays : public QObject {
    Q_OBJECT

  public:
    ChatOverlays(TranscriptBrowser& browser, const TranscriptDocument& transcript);

    /// After the text, the size or the scroll bar changed.
    void place();
    /// The turn below the pointer wakes up; (-1, -1): none.
    void hover(const QPoint& position);
    void retranslate();

  signals:
    void triggered(hokku::desktop::MessageId id, hokku::desktop::TurnAction action);

  private:
    struct Place {
        int x = 0, y = 0;
        MessageId turn = 0;  ///< 0: of code.
        int position = 0;    ///< Of the code in the document.
    };
    [[nodiscard]] QVector<Place> visiblePlaces() const;
    void placeTurns(const QVector<Place>& places);
    void placeCode(const QVector<Place>& places);
    void orderFocus();
    void copyCode(int button);

    TranscriptBrowser& m_browser;
    const TranscriptDocument& m_transcript;
    QVector<TurnActions*> m_rows;
    QVector<QuietButton*> m_codeButtons;
    QVector<int> m_codePositions;  ///< By button.
    QVector<QPointer<QWidget>> m_focusOrder;
    MessageId m_hovered = 0;
};

}  // namespace hokku::desktop
