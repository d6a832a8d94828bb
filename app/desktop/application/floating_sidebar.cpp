// SPDX-License-Identifier: Apache-2.0
#include "application/floating_sidebar.h"

#include <QEvent>
#include <QPainter>
#include <QSplitter>
#include <QStyle>
#include <QTimer>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// What of the window stays in sight beside it.
constexpr int kBeside = 7 * kGrid;
constexpr int kShadeAlpha = 90;

class Shade final : public QWidget {
  public:
    using QWidget::QWidget;

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter(this).fillRect(rect(), QColor(0, 0, 0, kShadeAlpha));
    }
};

}  // namespace

FloatingSidebar::FloatingSidebar(QWidget& window, QSplitter& splitter, QWidget& sidebar)
    : m_window(window), m_splitter(splitter), m_sidebar(sidebar), m_shade(new Shade(&window)) {
    m_shade->hide();
    for (QWidget* watched : {&m_window, &m_sidebar, m_shade}) watched->installEventFilter(this);
}

void FloatingSidebar::setFloating(bool isFloating) {
    if (m_isFloating == isFloating) return;
    m_sidebar.hide();
    m_isFloating = isFloating;
    if (isFloating) {
        m_sidebar.setParent(&m_window);
    } else {
        m_splitter.insertWidget(0, &m_sidebar);
        m_splitter.setStretchFactor(0, 0);
        m_splitter.setStretchFactor(1, 1);
        m_hasReturned = true;
    }
    m_sidebar.setProperty("floating", isFloating);
    m_sidebar.style()->unpolish(&m_sidebar);
    m_sidebar.style()->polish(&m_sidebar);
}

bool FloatingSidebar::eventFilter(QObject* watched, QEvent* event) {
    switch (event->type()) {
        case QEvent::Resize:
            if (watched == &m_window) place();
            if (watched == &m_sidebar && !m_isFloating && !m_hasReturned &&
                m_window.width() >= kNarrowWindow)
                m_width = m_sidebar.width();
            break;
        case QEvent::Show:
            if (watched != &m_sidebar) break;
            place();
            // Only what is shown can be given a width, once the splitter has taken it in.
            if (m_hasReturned)
                QTimer::singleShot(0, this, [this] {
                    m_hasReturned = false;
                    if (!m_isFloating) m_splitter.setSizes({m_width, m_window.width() - m_width});
                });
            break;
        case QEvent::Hide:
            if (watched == &m_sidebar) m_shade->hide();
            break;
        case QEvent::MouseButtonPress:
            if (watched != m_shade) break;
            m_sidebar.hide();
            return true;
        default:
            break;
    }
    return QObject::eventFilter(watched, event);
}

void FloatingSidebar::place() {
    if (!m_isFloating || m_sidebar.isHidden()) return;
    const QRect all = m_window.rect();
    const QRect left(0, 0, qMin(kUsualWidth, all.width() - kBeside), all.height());
    m_sidebar.setGeometry(QStyle::visualRect(m_window.layoutDirection(), all, left));
    m_shade->setGeometry(all);
    m_shade->show();
    m_shade->raise();
    m_sidebar.raise();
}

}  // namespace hokku::desktop
