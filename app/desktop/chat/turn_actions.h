// SPDX-License-Identifier: Apache-2.0
// TurnActions: the row of small buttons below a turn: versions, copy, edit, regenerate, continue,
// details, delete. It reports what was pressed and changes nothing.
#pragma once

#include <QWidget>

#include "chat/transcript.h"

class QLabel;

namespace hokku::desktop {

class QuietButton;

enum class TurnAction { previous, next, copy, edit, regenerate, continueReply, details, remove };

class TurnActions : public QWidget {
    Q_OBJECT

  public:
    explicit TurnActions(QWidget* parent);

    /// What fits the turn: its role, its state, its versions.
    void setTurn(const Turn& turn);
    [[nodiscard]] MessageId id() const { return m_id; }
    /// Whether the buttons are seen; a row with the focus, or with versions, always is.
    void setAwake(bool isAwake);
    /// Those that are shown, from left to right.
    [[nodiscard]] QVector<QuietButton*> visibleButtons() const;
    [[nodiscard]] QuietButton* button(TurnAction action) const;

  signals:
    void triggered(hokku::desktop::MessageId id, hokku::desktop::TurnAction action);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void nameButtons(bool isReply, const Turn& turn);
    void updateAwake();

    MessageId m_id = 0;
    bool m_isAwake = false;
    QVector<QuietButton*> m_buttons;  ///< By TurnAction.
    QLabel* m_version;
};

}  // namespace hokku::desktop
