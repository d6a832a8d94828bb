// SPDX-License-Identifier: Apache-2.0
// FloatingSidebar: in a narrow window the sidebar lies over the conversation instead of beside it,
// and a press beside it closes it.
#pragma once

#include <QObject>

class QSplitter;
class QWidget;

namespace hokku::desktop {

/// Threads: the UI thread. All that it is given must outlive it.
class FloatingSidebar : public QObject {
    Q_OBJECT

  public:
    static constexpr int kUsualWidth = 264;
    /// A window that is narrower has no room for the sidebar beside the conversation.
    static constexpr int kNarrowWindow = 640;

    /// The sidebar is the first part of the splitter, which fills the window.
    FloatingSidebar(QWidget& window, QSplitter& splitter, QWidget& sidebar);
    /// Hides the sidebar when it begins to float.
    void setFloating(bool isFloating);
    [[nodiscard]] bool isFloating() const { return m_isFloating; }

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void place();

    QWidget& m_window;
    QSplitter& m_splitter;
    QWidget& m_sidebar;
    QWidget* m_shade;           ///< Over all that lies behind it.
    int m_width = kUsualWidth;  ///< Of the sidebar beside the conversation.
    bool m_isFloating = false, m_hasReturned = false;
};

}  // namespace hokku::desktop
