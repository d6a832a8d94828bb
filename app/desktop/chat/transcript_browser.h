// SPDX-License-Identifier: Apache-2.0
// TranscriptBrowser: shows the document of the transcript in a centred column, paints what lies
// behind its text, and lets it be selected and copied. It never loads anything.
#pragma once

#include <QTextBlock>
#include <QTextBrowser>
#include <functional>

namespace hokku::desktop {

class TranscriptDocument;

class TranscriptBrowser : public QTextBrowser {
    Q_OBJECT

  public:
    explicit TranscriptBrowser(QWidget* parent);
    void setTranscript(const TranscriptDocument* transcript) { m_transcript = transcript; }

    /// Centres the column in the present width; the width that its text has.
    double updateColumn();
    void updateColors();

    /// Calls visit(block, place in the viewport) for those that are seen, from the top.
    void visitVisible(const std::function<void(const QTextBlock&, const QRectF&)>& visit) const;
    /// The code block that `block` is a line of, as it was written.
    [[nodiscard]] static QString codeAround(QTextBlock block);
    void copyAsMarkdown() const;
    [[nodiscard]] QString selectedText(bool asMarkdown) const;

    /// Nothing, whatever is asked for: text causes no request.
    QVariant loadResource(int type, const QUrl& name) override;

  signals:
    void hovered(const QPoint& viewportPosition);
    void left();

  protected:
    void doSetSource(const QUrl& url, QTextDocument::ResourceType type) override;
    [[nodiscard]] QMimeData* createMimeDataFromSelection() const override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

  private:
    void paintBehind(QPainter& painter);
    void paintBreaks(QPainter& painter, const QTextBlock& block, const QRectF& place);
    void paintBars(QPainter& painter, const QTextBlock& block, const QRectF& place);

    const TranscriptDocument* m_transcript = nullptr;
};

}  // namespace hokku::desktop
