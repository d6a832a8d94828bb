// SPDX-License-Identifier: Apache-2.0
// FlowLayout: controls in a row that breaks into further rows where there is no room.
#pragma once

#include <QLayout>
#include <QVector>

namespace hokku::desktop {

class FlowLayout : public QLayout {
    Q_OBJECT

  public:
    explicit FlowLayout(int gap);
    ~FlowLayout() override;
    /// Before the last one.
    void insertBeforeLast(QWidget* widget);

    void addItem(QLayoutItem* item) override;
    [[nodiscard]] int count() const override;
    [[nodiscard]] QLayoutItem* itemAt(int index) const override;
    QLayoutItem* takeAt(int index) override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSize() const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;
    void setGeometry(const QRect& rect) override;

  private:
    /// The height that it takes; puts the items there unless `isDry`.
    int place(const QRect& rect, bool isDry) const;

    int m_gap;
    QVector<QLayoutItem*> m_items;
};

}  // namespace hokku::desktop
