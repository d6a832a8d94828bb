// SPDX-License-Identifier: Apache-2.0
// TurnWriter: writes rich blocks into the document of the transcript. Each block takes a known
// number of characters, so that it can be taken out again without a look at the rest.
#pragma once

#include <QTextCursor>
#include <QVector>

#include "chat/turn_formats.h"

namespace hokku::desktop {

/// How a section of a turn differs from plain prose.
enum class TurnTone { reply, thought, person };

class TurnWriter {
  public:
    TurnWriter(QTextDocument& document, const TurnFormats& formats);

    /// Writes behind the text of the block that ends at `position`; the characters that each
    /// block took. The block at `position` keeps its format.
    QVector<int> write(int position, const QVector<RichBlock>& blocks, TurnTone tone);
    /// One block with a format of its own; the characters that it took.
    int writeLine(int position, const QTextBlockFormat& block, const QTextCharFormat& format,
                  const QString& text);
    /// Takes out whole blocks that were written at `position`.
    void remove(int position, int length);

  private:
    [[nodiscard]] QTextBlockFormat blockFormat(const RichBlock& block, TurnTone tone) const;
    [[nodiscard]] double personIndent(const QVector<RichBlock>& blocks) const;
    void writeText(const RichBlock& block, TurnTone tone, double personLeft, int edges);
    void writeTable(const RichBlock& block);
    void writeRuns(const RichText& text, const RichBlock& block, TurnTone tone, bool isHead);
    [[nodiscard]] QVector<QTextLength> columnWidths(const RichBlock& block, double* total) const;

    QTextDocument& m_document;
    const TurnFormats& m_formats;
    QTextCursor m_cursor;
};

}  // namespace hokku::desktop
