// SPDX-License-Identifier: Apache-2.0
// parseMarkdown: one chunk of Markdown as rich blocks. Images become their text and address, raw
// HTML stays text, formulas stay as they were written, and nothing is ever loaded.
#pragma once

#include "chat/markdown_blocks.h"
#include "chat/markdown_chunks.h"

namespace hokku::desktop {

/// What a chunk hands to the next one when a block goes over both.
struct MarkdownContext {
    unsigned nextNumber = 0;  ///< Of the outermost list; 0: it has no numbers.
    CodeHighlighter highlighter = CodeHighlighter();
};

/// `links` are definitions of links that stand in other chunks, and end with an empty line.
/// `text` is that of the chunk without its prefix; `isCutInCode`: the next chunk goes on with the
/// code block that this one ends in. `context` is that of the chunk before, and becomes that of
/// this one. A text that is not blank never gives nothing.
[[nodiscard]] QVector<RichBlock> parseMarkdown(const MarkdownChunk& chunk, const QString& text,
                                               bool isCutInCode, MarkdownContext& context,
                                               const QString& links = {});

/// Plain text as blocks, one a line; very long lines are cut.
[[nodiscard]] QVector<RichBlock> plainBlocks(const QString& text, quint8 style = 0);

/// Whether a link of the text may be opened at all: http, https and mailto.
[[nodiscard]] bool isAllowedLink(const QString& target);

}  // namespace hokku::desktop
