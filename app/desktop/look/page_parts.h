// SPDX-License-Identifier: Apache-2.0
// What the pages of the app are made of: a column of reading width that scrolls, its headings and
// its remarks.
#pragma once

#include <QString>

class QLabel;
class QScrollArea;
class QVBoxLayout;

namespace hokku::desktop {

/// Puts an empty column into `area`, in place of what it shows, and returns its layout.
QVBoxLayout* makeReadingColumn(QScrollArea& area, int topMargin);
/// A scroll area for such a column, without a frame.
QScrollArea* makePageArea();
QLabel* makeHeading(const QString& text);
/// Text of less weight.
QLabel* makeRemark(const QString& text);

}  // namespace hokku::desktop
