// SPDX-License-Identifier: Apache-2.0
#include "conversations/search_delegate.h"

#include <QPainter>
#include <QTextLayout>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

constexpr int kSnippetLines = 2;

struct Snippet {
    QString text;
    QVector<QTextLayout::FormatRange> matches;
};

Snippet readSnippet(const QString& marked, const QColor& matchColor) {
    Snippet snippet;
    qsizetype begin = 0;
    for (const QChar c : marked) {
        if (c == QChar(0xE000)) {
            begin = snippet.text.size();
        } else if (c == QChar(0xE001)) {
            QTextCharFormat format;
            format.setForeground(matchColor);
            format.setFontWeight(QFont::DemiBold);
            snippet.matches.append(
                {static_cast<int>(begin), static_cast<int>(snippet.text.size() - begin), format});
        } else {
            snippet.text += c;
        }
    }
    return snippet;
}

}  // namespace

void SearchDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
    QStyleOptionViewItem background = option;
    initStyleOption(&background, index);
    background.text.clear();
    const QWidget* widget = option.widget;
    widget->style()->drawControl(QStyle::CE_ItemViewItem, &background, painter, widget);

    const Colors& colors = Theme::instance().colors();
    const QRect area = option.rect.adjusted(kGrid, kGrid, -kGrid, -kGrid / 2);
    const QFontMetrics metrics(option.font);
    painter->save();
    painter->setPen(colors.ink);
    painter->setFont(option.font);
    painter->drawText(area, Qt::AlignLeft | Qt::AlignTop,
                      metrics.elidedText(index.data().toString(), Qt::ElideRight, area.width()));

    // On a ground of its own only the ink is read well.
    const bool hasGround = option.state & (QStyle::State_Selected | QStyle::State_MouseOver);
    const Snippet snippet =
        readSnippet(index.data(SnippetRole).toString(), hasGround ? colors.ink : colors.accent);
    QFont font = option.font;
    font.setPointSizeF(font.pointSizeF() * 0.9);
    QTextLayout layout(snippet.text, font);
    layout.setFormats(snippet.matches);
    QTextOption direction;
    direction.setTextDirection(snippet.text.isRightToLeft() ? Qt::RightToLeft : Qt::LeftToRight);
    layout.setTextOption(direction);
    painter->setPen(hasGround ? colors.ink : colors.faint);
    layout.beginLayout();
    qreal y = area.top() + metrics.lineSpacing() + 2;
    for (int i = 0; i < kSnippetLines; ++i) {
        QTextLine line = layout.createLine();
        if (!line.isValid()) break;
        line.setLineWidth(area.width());
        line.setPosition({static_cast<qreal>(area.left()), y});
        y += line.height();
    }
    layout.endLayout();
    layout.draw(painter, {0, 0});
    painter->restore();
}

QSize SearchDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    const int line = QFontMetrics(option.font).lineSpacing();
    return {option.rect.width(), (1 + kSnippetLines) * line + 2 * kGrid};
}

}  // namespace hokku::desktop
