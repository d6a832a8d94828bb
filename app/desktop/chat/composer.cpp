// SPDX-License-Identifier: Apache-2.0
#include "chat/composer.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLocale>
#include <QMimeData>
#include <QScrollBar>
#include <QStyle>
#include <QTextDocument>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "look/elided_label.h"
#include "look/theme.h"

namespace hokku::desktop {

namespace {
constexpr int kMostLines = 10;
/// Share of the context from which the budget is shown as a warning.
constexpr double kNearlyFull = 0.85;
}  // namespace

// ---- MessageEdit -----------------------------------------------------------------------------

MessageEdit::MessageEdit(QWidget* parent) : QPlainTextEdit(parent) {
    setTabChangesFocus(true);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(this, &QPlainTextEdit::textChanged, this, [this] { updateGeometry(); });
}

QSize MessageEdit::sizeHint() const {
    const int line = fontMetrics().lineSpacing();
    const int lines = qBound(1, static_cast<int>(document()->size().height()), kMostLines);
    const int frame = static_cast<int>(2 * document()->documentMargin()) + 2 * kGrid;
    return {QPlainTextEdit::sizeHint().width(), lines * line + frame};
}

void MessageEdit::keyPressEvent(QKeyEvent* event) {
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (isEnter && !m_isComposing && !(event->modifiers() & Qt::ShiftModifier)) {
        emit submitted();
        return;
    }
    if (event->key() == Qt::Key_Up && toPlainText().isEmpty()) {
        emit lastMessageWanted();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

void MessageEdit::inputMethodEvent(QInputMethodEvent* event) {
    QPlainTextEdit::inputMethodEvent(event);
    m_isComposing = !event->preeditString().isEmpty();
}

void MessageEdit::focusInEvent(QFocusEvent* event) {
    QPlainTextEdit::focusInEvent(event);
    emit focusChanged(true);
}

void MessageEdit::focusOutEvent(QFocusEvent* event) {
    QPlainTextEdit::focusOutEvent(event);
    emit focusChanged(false);
}

bool MessageEdit::canInsertFromMimeData(const QMimeData* source) const {
    return source->hasUrls() || QPlainTextEdit::canInsertFromMimeData(source);
}

void MessageEdit::insertFromMimeData(const QMimeData* source) {
    QStringList paths;
    for (const QUrl& url : source->urls())
        if (url.isLocalFile()) paths.append(url.toLocalFile());
    if (!paths.isEmpty()) {
        emit filesDropped(paths);
        return;
    }
    if (source->hasText()) insertPlainText(source->text());
}

// ---- Composer --------------------------------------------------------------------------------

Composer::Composer(QWidget* parent)
    : QFrame(parent),
      m_edit(new MessageEdit(this)),
      m_bottom(new QHBoxLayout),
      m_button(new QToolButton(this)),
      m_budget(new QLabel(this)),
      m_status(new ElidedLabel(this)) {
    setObjectName(QStringLiteral("composer"));
    m_edit->setObjectName(QStringLiteral("messageEdit"));
    m_button->setObjectName(QStringLiteral("sendButton"));
    m_button->setProperty("primary", true);
    m_button->setIconSize({20, 20});
    m_budget->setObjectName(QStringLiteral("faint"));
    m_status->setObjectName(QStringLiteral("faint"));

    m_bottom->setSpacing(kGrid);
    m_bottom->addWidget(m_status, 1);
    m_bottom->addWidget(m_budget);
    m_bottom->addWidget(m_button);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
    layout->setSpacing(kGrid / 2);
    layout->addWidget(m_edit);
    layout->addLayout(m_bottom);
    setFocusProxy(m_edit);

    connect(m_edit, &MessageEdit::submitted, this, &Composer::submit);
    connect(m_edit, &MessageEdit::lastMessageWanted, this, &Composer::lastMessageWanted);
    connect(m_edit, &MessageEdit::filesDropped, this, &Composer::filesDropped);
    connect(m_edit, &MessageEdit::focusChanged, this, [this](bool hasFocus) {
        setProperty("focused", hasFocus);
        style()->unpolish(this);
        style()->polish(this);
    });
    connect(m_edit, &QPlainTextEdit::textChanged, this, [this] {
        updateButton();
        emit textChanged(text());
    });
    connect(m_button, &QToolButton::clicked, this, [this] {
        if (m_isBusy) {
            emit stopRequested();
        } else {
            submit();
        }
    });
    connect(&Theme::instance(), &Theme::changed, this, &Composer::updateButton);
    retranslate();
}

QString Composer::text() const {
    return m_edit->toPlainText();
}

void Composer::setText(const QString& text) {
    m_edit->setPlainText(text);
    m_edit->moveCursor(QTextCursor::End);
}

void Composer::insertText(const QString& text) {
    m_edit->insertPlainText(text);
}

void Composer::setBusy(bool isBusy) {
    m_isBusy = isBusy;
    updateButton();
}

void Composer::setReady(bool isReady, const QString& reason) {
    m_isReady = isReady;
    m_reason = reason;
    updateButton();
}

void Composer::setBudget(quint32 used, quint32 total) {
    m_used = used;
    m_total = total;
    const QLocale locale;
    const bool isNearlyFull = total > 0 && used > kNearlyFull * total;
    m_budget->setText(
        total == 0 ? QString()
                   : tr("%1 / %2 tokens").arg(locale.toString(used), locale.toString(total)));
    m_budget->setAccessibleName(tr("Context: %1").arg(m_budget->text()));
    const Colors& colors = Theme::instance().colors();
    m_budget->setStyleSheet(isNearlyFull ? QStringLiteral("color: %1;").arg(colors.warning.name())
                                         : QString());
    m_budget->setToolTip(
        tr("How much of the context the conversation takes, with the text that "
           "you are writing. A model sees no more than its context."));
}

void Composer::setStatus(const QString& text) {
    m_status->setText(text);
}

void Composer::addControl(QWidget* control) {
    m_bottom->insertWidget(0, control);
}

void Composer::focusEdit() {
    m_edit->setFocus();
}

void Composer::submit() {
    if (m_isBusy || !m_isReady || text().trimmed().isEmpty()) return;
    const QString message = text();
    m_edit->clear();
    emit sendRequested(message);
}

void Composer::updateButton() {
    m_button->setIcon(
        Theme::instance().accentIcon(m_isBusy ? QStringLiteral("stop") : QStringLiteral("send")));
    m_button->setEnabled(m_isBusy || (m_isReady && !text().trimmed().isEmpty()));
    const QString name = m_isBusy ? tr("Stop the reply") : tr("Send the message");
    m_button->setAccessibleName(name);
    m_button->setToolTip(m_isBusy ? tr("Stop (Esc)") : (m_isReady ? tr("Send (Enter)") : m_reason));
}

void Composer::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) retranslate();
    QFrame::changeEvent(event);
}

void Composer::retranslate() {
    m_edit->setPlaceholderText(tr("Write a message"));
    m_edit->setAccessibleName(tr("Message"));
    m_edit->setAccessibleDescription(tr("Enter sends, Shift+Enter begins a new line"));
    setBudget(m_used, m_total);
    updateButton();
}

}  // namespace hokku::desktop
