// SPDX-License-Identifier: Apache-2.0
// TranscriptAccessible: the transcript as screen readers have it: its text in the order of reading,
// with a caret and a selection. It changes nothing of the text.
#pragma once

#include <QAccessibleWidget>

namespace hokku::desktop {

class TranscriptBrowser;

/// All offsets are those of reading (reading_order.h).
class TranscriptAccessible final : public QAccessibleWidget, public QAccessibleTextInterface {
  public:
    explicit TranscriptAccessible(TranscriptBrowser& browser);
    /// From now on Qt makes one for each browser that a screen reader asks for.
    static void install();

    void* interface_cast(QAccessible::InterfaceType type) override;
    [[nodiscard]] QAccessible::State state() const override;
    [[nodiscard]] QString text(QAccessible::Text kind) const override;

    void selection(int index, int* begin, int* end) const override;
    [[nodiscard]] int selectionCount() const override;
    void addSelection(int begin, int end) override;
    void removeSelection(int index) override;
    void setSelection(int index, int begin, int end) override;
    [[nodiscard]] int cursorPosition() const override;
    void setCursorPosition(int offset) override;
    [[nodiscard]] QString text(int begin, int end) const override;
    QString textBeforeOffset(int offset, QAccessible::TextBoundaryType type, int* begin,
                             int* end) const override;
    QString textAfterOffset(int offset, QAccessible::TextBoundaryType type, int* begin,
                            int* end) const override;
    QString textAtOffset(int offset, QAccessible::TextBoundaryType type, int* begin,
                         int* end) const override;
    [[nodiscard]] int characterCount() const override;
    [[nodiscard]] QRect characterRect(int offset) const override;
    [[nodiscard]] int offsetAtPoint(const QPoint& point) const override;
    void scrollToSubstring(int begin, int end) override;
    QString attributes(int offset, int* begin, int* end) const override;

  private:
    struct Span {
        int begin = 0, end = 0;
    };
    [[nodiscard]] TranscriptBrowser& browser() const;
    [[nodiscard]] int position(int offset) const;
    [[nodiscard]] Span spanAt(int offset, QAccessible::TextBoundaryType type) const;
    QString take(const Span& span, int* begin, int* end) const;
};

}  // namespace hokku::desktop
