// SPDX-License-Identifier: Apache-2.0
// QuietButton: an icon that stays back until it is wanted: paler than text, and not seen at all
// while the part of the transcript that it belongs to is asleep. It can always be reached by key.
#pragma once

#include <QToolButton>

namespace hokku::desktop {

class QuietButton : public QToolButton {
    Q_OBJECT

  public:
    QuietButton(const QString& icon, QWidget* parent);

    void setAwake(bool isAwake);
    /// The name for screen readers, and the tooltip.
    void setName(const QString& name);

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    bool m_isAwake = true;
};

}  // namespace hokku::desktop
