// SPDX-License-Identifier: Apache-2.0
// SearchDelegate: draws a search result: the title, and below it the snippet with its matches.
#pragma once

#include <QStyledItemDelegate>

namespace hokku::desktop {

class SearchDelegate : public QStyledItemDelegate {
    Q_OBJECT

  public:
    /// Text whose matches lie between U+E000 and U+E001.
    static constexpr int SnippetRole = Qt::UserRole + 10;

    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const override;
};

}  // namespace hokku::desktop
