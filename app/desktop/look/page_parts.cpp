// SPDX-License-Identifier: Apache-2.0
#include "look/page_parts.h"

#include <QApplication>
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QVBoxLayout>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

constexpr int kFewCharacters = 8;

}  // namespace

QScrollArea* makePageArea() {
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    // Also when the focus comes from outside of the area, which Qt does not see to.
    QObject::connect(qApp, &QApplication::focusChanged, area, [area](QWidget*, QWidget* now) {
        if (now != nullptr && area->isAncestorOf(now)) area->ensureWidgetVisible(now);
    });
    return area;
}

QVBoxLayout* makeReadingColumn(QScrollArea& area, int topMargin) {
    auto* content = new QWidget;
    auto* row = new QHBoxLayout(content);
    row->setContentsMargins(3 * kGrid, topMargin, 3 * kGrid, 3 * kGrid);
    auto* inner = new QWidget;
    inner->setMaximumWidth(kReadingWidth);
    row->addStretch(1);
    row->addWidget(inner, 100);
    row->addStretch(1);
    auto* column = new QVBoxLayout(inner);
    column->setContentsMargins(0, 0, 0, 0);
    area.setWidget(content);
    return column;
}

QLabel* makeHeading(const QString& text) {
    auto* label = new QLabel(text);
    QFont font = Theme::instance().textFont();
    font.setPointSizeF(font.pointSizeF() * 1.25);
    font.setWeight(QFont::DemiBold);
    label->setFont(font);
    return label;
}

QLabel* makeRemark(const QString& text) {
    auto* label = new QLabel(text);
    label->setObjectName(QStringLiteral("faint"));
    label->setWordWrap(true);
    return label;
}

void addFormRow(QFormLayout& form, const QString& name, const QString& help, QWidget* control) {
    auto* label = new QLabel(name);
    label->setBuddy(control);
    // As high as a control of one line, so that both texts are on the same one.
    QLineEdit line;
    line.ensurePolished();
    label->setFixedHeight(line.sizeHint().height());
    for (QWidget* widget : std::initializer_list<QWidget*>{label, control})
        widget->setToolTip(help);
    if (control->accessibleName().isEmpty()) control->setAccessibleName(name);
    control->setAccessibleDescription(help);
    form.setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form.setHorizontalSpacing(2 * kGrid);
    form.setRowWrapPolicy(QFormLayout::WrapLongRows);
    if (auto* box = qobject_cast<QComboBox*>(control)) {
        // Wide as the column is, and no wider because of a long choice.
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(kFewCharacters);
    }
    form.addRow(label, control);
}

void alignForms(QWidget& page) {
    int width = 0;
    QList<QLabel*> labels = page.findChildren<QLabel*>();
    labels.removeIf([](const QLabel* label) { return label->buddy() == nullptr; });
    for (QLabel* label : labels) {
        label->ensurePolished();
        width = qMax(width, label->sizeHint().width());
    }
    for (QLabel* label : labels) label->setMinimumWidth(width);
}

}  // namespace hokku::desktop
