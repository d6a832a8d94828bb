// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_view.h"

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QElapsedTimer>
#include <QEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollBar>
#include <QTimer>
#include <QVBoxLayout>

#include "chat/chat_overlays.h"
#include "chat/quiet_button.h"
#include "chat/transcript_browser.h"
#include "chat/transcript_document.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// As near to the bottom as this counts as being there.
constexpr int kBottomSlack = 8;
/// Streamed text is shown at least this often, however long it takes to lay out.
constexpr int kLongestDelayMs = 100;
/// A window that is being resized is laid out when it rests.
constexpr int kResizeDelayMs = 40;

}  // namespace

struct ChatView::Private {
    explicit Private(ChatView& view)
        : browser(new TranscriptBrowser(&view)),
          transcript(*browser->document()),
          overlays(*browser, transcript),
          status(new QLabel(&view)),
          jump(new QuietButton(QStringLiteral("down"), &view)),
          empty(new QWidget(&view)),
          emptyTitle(new QLabel(empty)),
          emptyHint(new QLabel(empty)) {}

    TranscriptBrowser* browser;
    TranscriptDocument transcript;
    ChatOverlays overlays;
    QLabel* status;  ///< Where the link under the pointer goes.
    QuietButton* jump;
    QWidget* empty;
    QLabel *emptyTitle, *emptyHint;
    QTimer layoutTimer, resizeTimer;
    int sliceMs = 12;
    double width = kReadingWidth;
    bool isFollowing = true;
    bool isChanging = false;     ///< The document, so that its scroll bar moves by itself.
    double wantedPosition = -1;  ///< To be kept until everything is laid out; -1: none.

    void buildEmptyState();
    void change(const std::function<void()>& edit);
    void layoutStreamed();
    void relayout();
    void placeParts(const QSize& size);
    void updateParts();
    void updateWidth();
    void scrolled();
};

void ChatView::Private::buildEmptyState() {
    emptyTitle->setAlignment(Qt::AlignCenter);
    emptyHint->setAlignment(Qt::AlignCenter);
    emptyHint->setObjectName(QStringLiteral("faint"));
    for (QLabel* label : {emptyTitle, emptyHint}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
    }
    auto* layout = new QVBoxLayout(empty);
    layout->setSpacing(kGrid);
    layout->addStretch(2);
    layout->addWidget(emptyTitle);
    layout->addWidget(emptyHint);
    layout->addStretch(3);
}

/// Changes the document and keeps the view at its end if it was there, or else at its place.
void ChatView::Private::change(const std::function<void()>& edit) {
    isChanging = true;
    QScrollBar* bar = browser->verticalScrollBar();
    // While turns are still laid out above what is seen, that moves down with its text.
    const bool isGrowing = !transcript.isLaidOut() && !isFollowing && wantedPosition < 0;
    const QAbstractTextDocumentLayout* layout = browser->document()->documentLayout();
    QTextCursor seen = browser->cursorForPosition({kColumnMargin, 0});
    const double before = isGrowing ? layout->blockBoundingRect(seen.block()).top() : 0;
    edit();
    if (isFollowing) {
        bar->setValue(bar->maximum());
    } else if (wantedPosition >= 0) {
        layout->documentSize();  // Finishes what Qt has put off.
        bar->setValue(qRound(wantedPosition * bar->maximum()));
    } else if (isGrowing) {
        const double now = layout->blockBoundingRect(seen.block()).top();
        bar->setValue(bar->value() + qRound(now - before));
    }
    if (transcript.isLaidOut()) {
        wantedPosition = -1;
    } else if (!layoutTimer.isActive()) {
        layoutTimer.start();
    }
    isChanging = false;
    updateParts();
}

void ChatView::Private::layoutStreamed() {
    QElapsedTimer timer;
    timer.start();
    change([this] { transcript.layout(QDeadlineTimer(sliceMs)); });
    // No more than a third of the time goes to the layout of what is streamed.
    layoutTimer.setInterval(
        transcript.isLaidOut() ? qMin(kLongestDelayMs, static_cast<int>(timer.elapsed()) * 2) : 0);
}

void ChatView::Private::relayout() {
    const QScrollBar* bar = browser->verticalScrollBar();
    if (!isFollowing && wantedPosition < 0)
        wantedPosition = bar->maximum() > 0 ? double(bar->value()) / bar->maximum() : 1;
    change([this] { transcript.relayout(width, QDeadlineTimer(sliceMs)); });
}

void ChatView::Private::updateWidth() {
    const double now = browser->updateColumn();
    if (now == width) return;
    width = now;
    relayout();
}

void ChatView::Private::placeParts(const QSize& size) {
    browser->setGeometry(QRect(QPoint(), size));
    empty->setGeometry(QRect(QPoint(), size));
    const bool isMirrored = QGuiApplication::isRightToLeft();
    status->move(isMirrored ? size.width() - status->width() - kGrid : kGrid,
                 size.height() - status->height() - kGrid / 2);
    jump->move((size.width() - jump->width()) / 2, size.height() - jump->height() - kGrid);
}

/// What depends on the turns and on where the view is.
void ChatView::Private::updateParts() {
    const QScrollBar* bar = browser->verticalScrollBar();
    empty->setVisible(transcript.size() == 0);
    jump->setVisible(bar->value() < bar->maximum() - kBottomSlack);
    overlays.place();
}

void ChatView::Private::scrolled() {
    const QScrollBar* bar = browser->verticalScrollBar();
    isFollowing = bar->value() >= bar->maximum() - kBottomSlack;
    wantedPosition = -1;
    updateParts();
}

ChatView::ChatView(QWidget* parent) : QWidget(parent), m_private(new Private(*this)) {
    Private& d = *m_private;
    d.browser->setTranscript(&d.transcript);
    d.browser->setObjectName(QStringLiteral("transcript"));
    setFocusProxy(d.browser);
    d.buildEmptyState();
    d.status->setObjectName(QStringLiteral("linkTarget"));
    d.status->setTextFormat(Qt::PlainText);
    d.status->hide();
    d.jump->setObjectName(QStringLiteral("jumpButton"));
    d.jump->hide();
    d.layoutTimer.setSingleShot(true);
    d.resizeTimer.setSingleShot(true);
    d.resizeTimer.setInterval(kResizeDelayMs);
    connect(&d.layoutTimer, &QTimer::timeout, this, [this] { m_private->layoutStreamed(); });
    connect(&d.resizeTimer, &QTimer::timeout, this, [this] { m_private->updateWidth(); });
    connect(d.browser->verticalScrollBar(), &QScrollBar::valueChanged, this, [this] {
        if (m_private->isChanging) return;
        m_private->scrolled();
        emit scrolled();
    });
    // Long texts are laid out in steps; the end moves on while they are.
    connect(d.browser->verticalScrollBar(), &QScrollBar::rangeChanged, this, [this] {
        if (!m_private->isChanging) m_private->change([] {});
    });
    connect(d.jump, &QToolButton::clicked, this, [this] { setScrollPosition(1); });
    connect(d.browser, &QTextBrowser::anchorClicked, this, &ChatView::askToOpen);
    connect(d.browser, &QTextBrowser::highlighted, this, &ChatView::showTarget);
    connect(d.browser, &TranscriptBrowser::hovered, this,
            [this](const QPoint& position) { m_private->overlays.hover(position); });
    connect(d.browser, &TranscriptBrowser::left, this,
            [this] { m_private->overlays.hover(QPoint(-1, -1)); });
    connect(&d.overlays, &ChatOverlays::triggered, this, &ChatView::runAction);
    connect(&Theme::instance(), &Theme::changed, this, &ChatView::updateTheme);
    updateTheme();
    retranslate();
}

ChatView::~ChatView() = default;

// ---- Turns -----------------------------------------------------------------------------------

void ChatView::setTurns(const QVector<Turn>& turns) {
    Private& d = *m_private;
    const bool isOther =
        turns.isEmpty() || d.transcript.size() == 0 || turns.first().id != d.transcript.turn(0).id;
    if (isOther) d.isFollowing = true;
    d.wantedPosition = -1;
    d.change([&] { d.transcript.setTurns(turns, QDeadlineTimer(d.sliceMs)); });
}

void ChatView::appendTurn(const Turn& turn) {
    Private& d = *m_private;
    // Who sends a message wants to see it.
    if (turn.role == QLatin1String("user")) d.isFollowing = true;
    d.change([&] { d.transcript.append(turn); });
}

void ChatView::updateTurn(const Turn& turn) {
    m_private->change([&] { m_private->transcript.update(turn); });
}

void ChatView::streamText(const QString& text) {
    m_private->transcript.streamText(text);
    if (!m_private->layoutTimer.isActive()) m_private->layoutTimer.start();
}

void ChatView::streamThought(const QString& text) {
    m_private->transcript.streamThought(text);
    if (!m_private->layoutTimer.isActive()) m_private->layoutTimer.start();
}

void ChatView::runAction(MessageId id, TurnAction action) {
    switch (action) {
        case TurnAction::previous:
            return emit versionRequested(id, -1);
        case TurnAction::next:
            return emit versionRequested(id, 1);
        case TurnAction::copy:
            return emit copyRequested(id);
        case TurnAction::edit:
            return emit editRequested(id);
        case TurnAction::regenerate:
            return emit regenerateRequested(id);
        case TurnAction::continueReply:
            return emit continueRequested(id);
        case TurnAction::remove:
            return emit deleteRequested(id);
        case TurnAction::details:
            break;
    }
    m_private->change([&] { m_private->transcript.toggleDetails(id); });
}

void ChatView::setSliceMs(int milliseconds) {
    m_private->sliceMs = milliseconds;
}

// ---- Places ----------------------------------------------------------------------------------

void ChatView::setEmptyState(const QString& title, const QString& hint) {
    m_private->emptyTitle->setText(title);
    m_private->emptyHint->setText(hint);
    m_private->updateParts();
}

double ChatView::scrollPosition() const {
    const QScrollBar* bar = m_private->browser->verticalScrollBar();
    return bar->maximum() == 0 ? 1 : double(bar->value()) / bar->maximum();
}

void ChatView::setScrollPosition(double position) {
    Private& d = *m_private;
    d.isFollowing = position >= 1;
    d.wantedPosition = d.isFollowing ? -1 : position;
    d.change([] {});
}

void ChatView::scrollToTurn(MessageId id) {
    Private& d = *m_private;
    const qsizetype index = d.transcript.indexOf(id);
    if (index < 0) return;
    d.isFollowing = false;
    d.change([&] { d.transcript.layout(); });
    const QTextBlock block = d.browser->document()->findBlock(d.transcript.range(index).begin + 1);
    const QRectF place = d.browser->document()->documentLayout()->blockBoundingRect(block);
    d.browser->verticalScrollBar()->setValue(static_cast<int>(place.top()) - kGrid);
    d.scrolled();
}

QString ChatView::selectedText(bool asMarkdown) const {
    return m_private->browser->selectedText(asMarkdown);
}

void ChatView::copySelection(bool asMarkdown) const {
    QGuiApplication::clipboard()->setText(selectedText(asMarkdown));
}

// ---- Links -----------------------------------------------------------------------------------

/// The pointer, or the focus, is on a link: where it goes is told before it is opened.
void ChatView::showTarget(const QUrl& url) {
    Private& d = *m_private;
    const QString target = url.toDisplayString(QUrl::FullyEncoded);
    const bool isShown = !url.isEmpty() && !target.startsWith(TranscriptDocument::kThoughtLink);
    if (isShown) {
        d.status->setText(
            d.status->fontMetrics().elidedText(target, Qt::ElideMiddle, width() - 6 * kGrid));
        d.status->adjustSize();
        d.placeParts(size());
        d.status->raise();
    }
    d.status->setVisible(isShown);
}

void ChatView::askToOpen(const QUrl& url) {
    const QString target = url.toString(QUrl::FullyEncoded);
    if (target.startsWith(TranscriptDocument::kThoughtLink)) {
        const MessageId id = target.mid(TranscriptDocument::kThoughtLink.size()).toLongLong();
        // Unfolding keeps its place in sight.
        m_private->isFollowing = false;
        return m_private->change([&] { m_private->transcript.toggleThought(id); });
    }
    if (!isAllowedLink(target)) return;
    auto* question = new QMessageBox(this);
    question->setObjectName(QStringLiteral("linkQuestion"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setWindowTitle(tr("Open a link"));
    question->setTextFormat(Qt::PlainText);
    question->setText(tr("Open this address outside of Hokku?"));
    question->setInformativeText(target);
    question->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    QPushButton* open = question->addButton(tr("Open"), QMessageBox::AcceptRole);
    QPushButton* copy = question->addButton(tr("Copy"), QMessageBox::ActionRole);
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    connect(open, &QPushButton::clicked, this, [this, url] { emit linkActivated(url); });
    connect(copy, &QPushButton::clicked, this,
            [target] { QGuiApplication::clipboard()->setText(target); });
    question->open();
}

// ---- Look ------------------------------------------------------------------------------------

void ChatView::updateTheme() {
    Private& d = *m_private;
    const Colors& colors = Theme::instance().colors();
    QFont title = Theme::instance().verseFont();
    title.setPointSizeF(title.pointSizeF() * 1.5);
    d.emptyTitle->setFont(title);
    d.browser->updateColors();
    d.status->setStyleSheet(
        QStringLiteral("background: %1; color: %2; border: 1px solid %3; border-radius: 4px; "
                       "padding: 2px 8px;")
            .arg(colors.raised.name(), colors.faint.name(), colors.hairline.name()));
    d.jump->setStyleSheet(QStringLiteral("background: %1; border: 1px solid %2; "
                                         "border-radius: %3px;")
                              .arg(colors.ground.name(), colors.hairline.name())
                              .arg(d.jump->width() / 2));
    d.relayout();
}

void ChatView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    m_private->placeParts(size());
    m_private->browser->updateColumn();
    m_private->updateParts();
    m_private->resizeTimer.start();
}

void ChatView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) retranslate();
    if (event->type() == QEvent::LanguageChange || event->type() == QEvent::LayoutDirectionChange)
        m_private->relayout();
    QWidget::changeEvent(event);
}

void ChatView::retranslate() {
    Private& d = *m_private;
    d.browser->setAccessibleName(tr("Conversation"));
    d.jump->setName(tr("Jump to the end"));
    d.overlays.retranslate();
}

}  // namespace hokku::desktop
