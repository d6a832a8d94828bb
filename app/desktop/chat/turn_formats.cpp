// SPDX-License-Identifier: Apache-2.0
#include "chat/turn_formats.h"

#include <QFontInfo>
#include <QFontMetricsF>
#include <array>

#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// Sizes of headings, in those of the text, from level 1 on.
constexpr std::array kHeadingSizes = {1.5, 1.3, 1.15, 1.0, 1.0, 1.0};
constexpr int kLineHeightPercent = 150;
constexpr int kCodeLineHeightPercent = 135;

}  // namespace

BlockPart blockPart(const QTextBlockFormat& format) {
    return static_cast<BlockPart>(format.intProperty(kBlockPart));
}

TurnFormats::TurnFormats(double columnWidth) : width(columnWidth) {
    const Theme& theme = Theme::instance();
    const Colors& colors = theme.colors();
    em = QFontInfo(theme.textFont()).pixelSize();
    gap = em * 0.75;
    text.setFont(theme.textFont());
    text.setForeground(colors.ink);
    faint = text;
    faint.setForeground(colors.faint);
    marker = faint;
    code.setFont(theme.codeFont());
    code.setForeground(colors.ink);
    codeEm = QFontMetricsF(theme.codeFont()).horizontalAdvance(QLatin1Char(' '));
    hidden = text;
    QFont tiny = theme.textFont();
    tiny.setPixelSize(1);
    tiny.setStretch(1);
    hidden.setFont(tiny);
    hidden.setForeground(Qt::transparent);
    block.setLineHeight(kLineHeightPercent, QTextBlockFormat::ProportionalHeight);
    hiddenBlock.setLineHeight(1, QTextBlockFormat::FixedHeight);
    hiddenBlock.setProperty(kBlockPart, static_cast<int>(BlockPart::head));
}

QTextCharFormat TurnFormats::run(const TextRun& run, RichBlock::Kind kind, int level) const {
    const Theme& theme = Theme::instance();
    const Colors& colors = theme.colors();
    if (kind == RichBlock::Kind::code) {
        QTextCharFormat format = code;
        switch (run.token) {
            case CodeToken::keyword:
                format.setForeground(colors.codeKeyword);
                break;
            case CodeToken::type:
                format.setForeground(colors.codeType);
                break;
            case CodeToken::string:
                format.setForeground(colors.codeString);
                break;
            case CodeToken::number:
                format.setForeground(colors.codeNumber);
                break;
            case CodeToken::comment:
                format.setForeground(colors.codeComment);
                break;
            case CodeToken::text:
                break;
        }
        return format;
    }
    const bool isMono = (run.style & (kInlineCode | kFormula)) != 0;
    QTextCharFormat format = isMono ? code : text;
    if (kind == RichBlock::Kind::heading) {
        format.setFontWeight(QFont::DemiBold);
        format.setFontPointSize(theme.textFont().pointSizeF() *
                                kHeadingSizes[static_cast<size_t>(qBound(1, level, 6) - 1)]);
    }
    if (run.style & kStrong) format.setFontWeight(QFont::Bold);
    if (run.style & kEmphasis) format.setFontItalic(true);
    if (run.style & kStrike) format.setFontStrikeOut(true);
    if (run.style & kInlineCode) format.setBackground(colors.codeGround);
    if (run.style & kFaint) format.setForeground(colors.faint);
    if (!run.link.isEmpty()) {
        format.setAnchor(true);
        format.setAnchorHref(run.link);
        format.setFontUnderline(true);
        format.setUnderlineColor(colors.faint);
    }
    return format;
}

double TurnFormats::codeHang(QStringView line) const {
    int columns = 0;
    for (const QChar c : line) {
        if (c == QLatin1Char('\t')) {
            columns += kCodeTab - columns % kCodeTab;
        } else if (c == QLatin1Char(' ')) {
            ++columns;
        } else {
            break;
        }
    }
    return qMin((columns + kCodeHang) * codeEm, width / 3);
}

double TurnFormats::containerWidth(QChar container) const {
    if (container == QLatin1Char('b')) return 1.5 * em;
    if (container == QLatin1Char('n')) return 2.0 * em;
    return 1.25 * em;
}

double TurnFormats::indent(QStringView containers) const {
    double left = 0;
    for (const QChar c : containers) left += containerWidth(c);
    return left;
}

}  // namespace hokku::desktop
