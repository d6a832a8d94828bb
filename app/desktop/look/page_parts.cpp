// SPDX-License-Identifier: Apache-2.0
#include "look/page_parts.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QVBoxLayout>
#include <optional>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

constexpr int kFewCharacters = 8;
/// A control beside its label is at least so wide, in letters; else it goes below.
constexpr int kLeastLetters = 20;

/// Of a control with one line of text.
int lineHeight() {
    QLineEdit line;
    line.ensurePolished();
    return line.sizeHint().height();
}

/// Whoever scrolls a page must not change what lies below the pointer.
class WheelToPage final : public QObject {
  public:
    explicit WheelToPage(QWidget* control) : QObject(control) {
        control->setFocusPolicy(Qt::StrongFocus);
        control->installEventFilter(this);
    }

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() != QEvent::Wheel) return QObject::eventFilter(watched, event);
        event->ignore();  // the page takes it
        return true;
    }
};

/// Puts the controls of a page's forms below their labels where it is narrow.
class FormWrapper final : public QObject {
  public:
    FormWrapper(QScrollArea& area, QWidget& page) : QObject(&page), m_area(area), m_page(page) {
        area.viewport()->installEventFilter(this);
        wrap();
    }

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Resize) wrap();
        return QObject::eventFilter(watched, event);
    }

  private:
    void wrap() {
        int widest = 0;
        QList<QLabel*> labels = m_page.findChildren<QLabel*>();
        labels.removeIf([](const QLabel* label) { return label->buddy() == nullptr; });
        for (QLabel* label : labels) {
            label->ensurePolished();
            widest = qMax(widest, label->sizeHint().width());
        }
        const int least = kLeastLetters * m_page.fontMetrics().averageCharWidth();
        const bool isNarrow = m_area.viewport()->width() < widest + least + 8 * kGrid;
        if (m_isNarrow == isNarrow) return;
        m_isNarrow = isNarrow;
        for (QLabel* label : labels) {
            label->setMinimumWidth(isNarrow ? 0 : widest);
            label->setFixedHeight(isNarrow ? label->sizeHint().height() : lineHeight());
        }
        for (QFormLayout* form : m_page.findChildren<QFormLayout*>())
            form->setRowWrapPolicy(isNarrow ? QFormLayout::WrapAllRows : QFormLayout::WrapLongRows);
    }

    QScrollArea& m_area;
    QWidget& m_page;
    std::optional<bool> m_isNarrow;
};

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
    label->setWordWrap(true);
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
    // So that both texts are on the same line.
    label->setFixedHeight(lineHeight());
    for (QWidget* widget : std::initializer_list<QWidget*>{label, control})
        widget->setToolTip(help);
    if (control->accessibleName().isEmpty()) control->setAccessibleName(name);
    control->setAccessibleDescription(help);
    form.setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form.setHorizontalSpacing(2 * kGrid);
    form.setRowWrapPolicy(QFormLayout::WrapLongRows);
    if (qobject_cast<QComboBox*>(control) != nullptr ||
        qobject_cast<QAbstractSpinBox*>(control) != nullptr)
        new WheelToPage(control);
    if (auto* box = qobject_cast<QComboBox*>(control)) {
        // Wide as the column is, and no wider because of a long choice.
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(kFewCharacters);
    }
    form.addRow(label, control);
}

void alignForms(QScrollArea& area) {
    new FormWrapper(area, *area.widget());
}

}  // namespace hokku::desktop
