// SPDX-License-Identifier: Apache-2.0
// Draws an SVG as square PNG files of the sizes that desktops ask for:
//   render_icon IN.svg NAME.png FOLDER SIZE..    FOLDER/<SIZE>x<SIZE>/apps/NAME.png each
#include <QDir>
#include <QFile>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>
#include <QTextStream>

namespace {

bool render(QSvgRenderer& icon, int size, const QString& path) {
    QImage image(size, size, QImage::Format_ARGB32);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    icon.render(&painter);
    painter.end();
    return image.save(path);
}

int fail(const QString& text) {
    QTextStream(stderr) << "error: " << text << Qt::endl;
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    QStringList arguments;
    for (int i = 1; i < argc; ++i) arguments.append(QFile::decodeName(argv[i]));
    if (arguments.size() < 4)
        return fail(QStringLiteral("usage: render_icon IN.svg NAME.png FOLDER SIZE.."));
    const QString source = arguments.takeFirst(), name = arguments.takeFirst();
    const QString folder = arguments.takeFirst();
    QSvgRenderer icon(source);
    if (!icon.isValid()) return fail(source + QStringLiteral(" is no SVG picture"));
    for (const QString& size : arguments) {
        const QString place = QStringLiteral("%1/%2x%2/apps").arg(folder, size);
        const QString path = place + QLatin1Char('/') + name;
        if (size.toInt() <= 0 || !QDir().mkpath(place) || !render(icon, size.toInt(), path))
            return fail(path + QStringLiteral(" cannot be written"));
    }
    return 0;
}
