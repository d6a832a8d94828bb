// SPDX-License-Identifier: Apache-2.0
// ElidedLabel: a line of text that ends with an ellipsis where there is no room for all of it.
#pragma once

#include <QLabel>

namespace hokku::desktop {

/// text() is the whole text, for screen readers too; the tooltip shows it when it is cut, unless
/// another one is set.
class ElidedLabel : public QLabel {
    Q_OBJECT

  public:
    explicit ElidedLabel(QWidget* parent = nullptr);
    /// Shown instead where there is no room for text().
    void setShortText(const QString& text);
    [[nodiscard]] QSize minimumSizeHint() const override;

  protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    QString m_shortText;
};

}  // namespace hokku::desktop
