// SPDX-License-Identifier: Apache-2.0
// Reference links of Markdown: [text][label] here, [label]: address somewhere else. What parses one
// chunk at a time must be told the addresses that the others hold.
#pragma once

#include <QHash>
#include <QStringList>
#include <QVector>
#include <optional>

#include "chat/markdown_blocks.h"

namespace hokku::desktop {

struct LinkDefinition {
    QString label;   ///< As written.
    QString target;  ///< The address, without angle brackets.
    QString title;   ///< With the space before it and its quotes; empty: none.
    QString line;    ///< All of it, as Markdown reads it.
};
/// A line that defines a link and nothing else.
/// Source : CommonMark 0.30, 4.7 (on one line).
[[nodiscard]] std::optional<LinkDefinition> parseLinkDefinition(QStringView line);

/// Labels are equal whatever their case and white space.
[[nodiscard]] QString normalizedLabel(QStringView label);
/// The labels that a text may refer to, normalized, each once.
[[nodiscard]] QStringList labelsIn(const QString& text);

/// Links by label; the first definition of a label counts.
class LinkDefinitions {
  public:
    void add(const LinkDefinition& definition);
    /// Normalized labels in the order of their definitions.
    [[nodiscard]] const QStringList& labels() const { return m_labels; }
    [[nodiscard]] bool contains(const QString& label) const { return m_lines.contains(label); }
    /// The definitions of these labels that there are, to be read before the text.
    [[nodiscard]] QString preamble(const QStringList& labels) const;

  private:
    QStringList m_labels;
    QHash<QString, QString> m_lines;
};

/// What a text that defines links and nothing else looks like: Markdown would show nothing.
[[nodiscard]] QVector<RichBlock> definitionBlocks(const QString& text);

}  // namespace hokku::desktop
