// SPDX-License-Identifier: Apache-2.0
// What the pages of the app are made of: a column of reading width that scrolls, its headings,
// remarks and forms.
#pragma once

#include <QString>

class QFormLayout;
class QLabel;
class QScrollArea;
class QVBoxLayout;
class QWidget;

namespace hokku::desktop {

/// Puts an empty column into `area`, in place of what it shows, and returns its layout.
QVBoxLayout* makeReadingColumn(QScrollArea& area, int topMargin);
/// A scroll area for such a column, without a frame.
QScrollArea* makePageArea();
QLabel* makeHeading(const QString& text);
/// Text of less weight.
QLabel* makeRemark(const QString& text);
/// A row of a form; the control is named by the label, unless it has a name already.
void addFormRow(QFormLayout& form, const QString& name, const QString& help, QWidget* control);
/// Gives the labels of all forms of a page the same width; in a narrow one the controls stand below
/// them.
void alignForms(QScrollArea& area);

}  // namespace hokku::desktop
