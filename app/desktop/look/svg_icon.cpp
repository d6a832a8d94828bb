// SPDX-License-Identifier: Apache-2.0
#include "look/svg_icon.h"

#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// Icons that point along the line, which runs the other way in some languages.
bool isDirected(const QString& name) {
    static const QStringList names{QStringLiteral("back"),    QStringLiteral("continue"),
                                   QStringLiteral("next"),    QStringLiteral("previous"),
                                   QStringLiteral("sidebar"), QStringLiteral("undo")};
    return names.contains(name);
}

class SvgIconEngine final : public QIconEngine {
  public:
    SvgIconEngine(QString name, SvgIconInk ink) : m_name(std::move(name)), m_ink(ink) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        const double scale = painter->device()->devicePixelRatioF();
        painter->drawPixmap(rect, draw(rect.size() * scale, mode));
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State) override {
        return draw(size, mode);
    }
    [[nodiscard]] QIconEngine* clone() const override { return new SvgIconEngine(*this); }

  private:
    [[nodiscard]] QPixmap draw(const QSize& size, QIcon::Mode mode) const {
        QPixmap pixmap(size);
        if (pixmap.isNull()) return pixmap;
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        QSvgRenderer renderer(QStringLiteral(":/icons/%1.svg").arg(m_name));
        if (QGuiApplication::isRightToLeft() && isDirected(m_name)) {
            painter.translate(size.width(), 0);
            painter.scale(-1, 1);
        }
        renderer.render(&painter, QRectF(QPointF(), size));
        painter.resetTransform();
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        const Colors& colors = Theme::instance().colors();
        QColor color = m_ink == SvgIconInk::onAccent ? colors.onAccent : colors.ink;
        if (mode == QIcon::Disabled) color = colors.faint;
        painter.fillRect(pixmap.rect(), color);
        return pixmap;
    }

    QString m_name;
    SvgIconInk m_ink;
};

}  // namespace

QIcon svgIcon(const QString& name, SvgIconInk ink) {
    return QIcon(new SvgIconEngine(name, ink));
}

}  // namespace hokku::desktop
