// SPDX-License-Identifier: Apache-2.0
#include "look/wrapping_check_box.h"

#include <QStyleOptionButton>

namespace hokku::desktop {

WrappingCheckBox::WrappingCheckBox(const QString& text, QWidget* parent)
    : QCheckBox(text, parent), m_text(text) {
    setAccessibleName(text);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

QSize WrappingCheckBox::sizeFor(const QString& text) const {
    QStyleOptionButton option;
    initStyleOption(&option);
    const QSize letters = fontMetrics().size(Qt::TextShowMnemonic, text);
    return style()->sizeFromContents(QStyle::CT_CheckBox, &option, letters, this);
}

QString WrappingCheckBox::wrapped(int width) const {
    QString lines, line;
    for (const QString& word : m_text.split(QLatin1Char(' '))) {
        const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
        if (!line.isEmpty() && sizeFor(longer).width() > width) {
            lines += line + QLatin1Char('\n');
            line = word;
        } else {
            line = longer;
        }
    }
    return lines + line;
}

QSize WrappingCheckBox::sizeHint() const {
    ensurePolished();
    return sizeFor(m_text);
}

QSize WrappingCheckBox::minimumSizeHint() const {
    ensurePolished();
    int widest = 0;
    for (const QString& word : m_text.split(QLatin1Char(' ')))
        widest = qMax(widest, sizeFor(word).width());
    return {widest, sizeFor(m_text).height()};
}

int WrappingCheckBox::heightForWidth(int width) const {
    return sizeFor(wrapped(width)).height();
}

void WrappingCheckBox::resizeEvent(QResizeEvent* event) {
    QCheckBox::resizeEvent(event);
    const QString text = wrapped(width());
    if (text != QCheckBox::text()) setText(text);
}

}  // namespace hokku::desktop
