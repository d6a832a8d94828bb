// SPDX-License-Identifier: Apache-2.0
// Composer: the field in which a message is written, with the button that sends or stops.
#pragma once

#include <QFrame>
#include <QPlainTextEdit>

class QHBoxLayout;
class QLabel;
class QToolButton;

namespace hokku::desktop {

/// Grows with its text. Enter sends, never while an input method composes; Shift+Enter breaks the
/// line; Up in an empty field asks for the last message.
class MessageEdit : public QPlainTextEdit {
    Q_OBJECT

  public:
    explicit MessageEdit(QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

  signals:
    void submitted();
    void lastMessageWanted();
    void filesDropped(const QStringList& paths);
    void focusChanged(bool hasFocus);

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void inputMethodEvent(QInputMethodEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;

  private:
    bool m_isComposing = false;
};

class ElidedLabel;

class Composer : public QFrame {
    Q_OBJECT

  public:
    explicit Composer(QWidget* parent = nullptr);

    [[nodiscard]] QString text() const;
    void setText(const QString& text);
    void insertText(const QString& text);  ///< Where the cursor is.
    void setBusy(bool isBusy);
    /// Whether a message can be sent at all (a model is loaded).
    void setReady(bool isReady, const QString& reason);
    /// Tokens of the conversation with this text, of those that fit. total 0: not known.
    void setBudget(quint32 used, quint32 total);
    void setStatus(const QString& text);
    /// A control below the field, before what it says.
    void addControl(QWidget* control);
    void focusEdit();

  signals:
    void sendRequested(const QString& text);
    void stopRequested();
    void textChanged(const QString& text);
    void lastMessageWanted();
    void filesDropped(const QStringList& paths);

  protected:
    void changeEvent(QEvent* event) override;

  private:
    void submit();
    void retranslate();
    void updateButton();

    MessageEdit* m_edit;
    QHBoxLayout* m_bottom;
    QToolButton* m_button;
    QLabel* m_budget;
    ElidedLabel* m_status;
    bool m_isBusy = false, m_isReady = false;
    QString m_reason;
    quint32 m_used = 0, m_total = 0;
};

}  // namespace hokku::desktop
