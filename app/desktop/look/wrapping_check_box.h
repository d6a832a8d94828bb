// SPDX-License-Identifier: Apache-2.0
// WrappingCheckBox: a check box whose text takes several lines where there is no room for one.
#pragma once

#include <QCheckBox>

namespace hokku::desktop {

class WrappingCheckBox : public QCheckBox {
    Q_OBJECT

  public:
    explicit WrappingCheckBox(const QString& text, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    /// The text with line ends where it does not fit into `width`.
    [[nodiscard]] QString wrapped(int width) const;
    [[nodiscard]] QSize sizeFor(const QString& text) const;

    QString m_text;
};

}  // namespace hokku::desktop
