// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_links.h"

#include <QRegularExpression>

#include "chat/markdown_lines.h"
#include "chat/markdown_parser.h"

namespace hokku::desktop {
namespace {

/// Longer labels are no labels.
constexpr qsizetype kLongestLabel = 999;
constexpr qsizetype kMostIndent = 3;

}  // namespace

std::optional<LinkDefinition> parseLinkDefinition(QStringView line) {
    if (indentOf(line) > kMostIndent) return std::nullopt;
    // [label]: address "title", where the title and its quotes may be any of three kinds.
    static const QRegularExpression form(
        QStringLiteral(R"(^\s*\[((?:[^\[\]\\]|\\.)+)\]:\s*(?:<([^<>\s]*)>|([^<\s]\S*)))"
                       R"((\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*$)"));
    const QRegularExpressionMatch match = form.match(line);
    if (!match.hasMatch()) return std::nullopt;
    const QString label = match.captured(1);
    if (label.trimmed().isEmpty() || label.size() > kLongestLabel) return std::nullopt;
    const QString target = match.hasCaptured(3) ? match.captured(3) : match.captured(2);
    return LinkDefinition{label, target, match.captured(4), line.trimmed().toString()};
}

QString normalizedLabel(QStringView label) {
    return label.toString().simplified().toCaseFolded();
}

QStringList labelsIn(const QString& text) {
    QStringList labels;
    static const QRegularExpression form(QStringLiteral(R"(\[((?:[^\[\]\\]|\\.)+)\])"));
    for (auto match = form.globalMatch(text); match.hasNext();) {
        const QString label = match.next().captured(1);
        if (label.size() <= kLongestLabel) labels.append(normalizedLabel(label));
    }
    labels.removeDuplicates();
    return labels;
}

void LinkDefinitions::add(const LinkDefinition& definition) {
    const QString label = normalizedLabel(definition.label);
    if (m_lines.contains(label)) return;
    m_lines.insert(label, definition.line);
    m_labels.append(label);
}

QString LinkDefinitions::preamble(const QStringList& labels) const {
    QString text;
    for (const QString& label : labels) {
        const auto line = m_lines.constFind(label);
        if (line != m_lines.constEnd()) text += *line + QLatin1Char('\n');
    }
    return text.isEmpty() ? text : text + QLatin1Char('\n');
}

QVector<RichBlock> definitionBlocks(const QString& text) {
    QVector<RichBlock> blocks;
    for (const QString& line : text.split(QLatin1Char('\n'))) {
        if (line.trimmed().isEmpty()) continue;
        const auto definition = parseLinkDefinition(line);
        if (!definition) return {};
        RichBlock block;
        block.join = blocks.isEmpty() ? BlockJoin::paragraph : BlockJoin::line;
        const bool isOpened = isAllowedLink(definition->target);
        block.content.append(QStringLiteral("[%1]: ").arg(definition->label), kFaint);
        block.content.append(definition->target, kFaint, isOpened ? definition->target : QString());
        if (!definition->title.isEmpty()) block.content.append(definition->title, kFaint);
        blocks.append(block);
    }
    return blocks;
}

}  // namespace hokku::desktop
