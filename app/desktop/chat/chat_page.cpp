// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_page.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QTimer>
#include <QVBoxLayout>

#include "chat/announcer.h"
#include "chat/chat_view.h"
#include "chat/composer.h"
#include "chat/preset_button.h"
#include "look/engine_text.h"
#include "look/theme.h"

namespace hokku::desktop {

namespace {
/// After the last key or scroll: then the draft and the place are stored, and tokens are counted.
constexpr int kSaveDelayMs = 300;
}  // namespace

ChatPage::ChatPage(ChatSession& session, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_view(new ChatView(this)),
      m_composer(new Composer(this)),
      m_presetButton(new PresetButton),
      m_notice(new NoticeBar(this)),
      m_announcer(new Announcer(this)),
      m_saveTimer(new QTimer(this)),
      m_budgetTimer(new QTimer(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(2 * kGrid, 0, 2 * kGrid, 2 * kGrid);
    layout->setSpacing(kGrid);
    layout->addWidget(m_view, 1);
    for (QWidget* part : std::initializer_list<QWidget*>{m_notice, m_composer}) {
        part->setMaximumWidth(kReadingWidth + 4 * kGrid);
        auto* row = new QHBoxLayout;
        row->addStretch(1);
        row->addWidget(part, 100);
        row->addStretch(1);
        layout->addLayout(row);
    }

    connect(m_notice, &NoticeBar::focusReleased, m_composer, &Composer::focusEdit);
    m_composer->addControl(m_presetButton);
    m_saveTimer->setSingleShot(true);
    m_saveTimer->setInterval(kSaveDelayMs);
    connect(m_saveTimer, &QTimer::timeout, this, &ChatPage::save);
    m_budgetTimer->setSingleShot(true);
    m_budgetTimer->setInterval(0);
    connect(m_budgetTimer, &QTimer::timeout, this,
            [this] { m_session.updateBudget(m_composer->text()); });
    connect(m_composer, &Composer::textChanged, this, [this] { m_saveTimer->start(); });
    connect(m_composer, &Composer::sendRequested, this, [this](const QString& text) {
        if (m_edited != 0) {
            const MessageId id = std::exchange(m_edited, 0);
            endEdit();
            m_session.edit(id, text);
        } else {
            m_session.send(text);
        }
    });
    connect(m_composer, &Composer::stopRequested, &m_session, &ChatSession::stop);
    connect(m_composer, &Composer::lastMessageWanted, this,
            [this] { beginEdit(m_session.lastUserMessage()); });
    connect(m_composer, &Composer::filesDropped, this, &ChatPage::filesDropped);
    connect(m_notice, &NoticeBar::dismissed, this, [this] {
        if (std::exchange(m_edited, 0) != 0) endEdit();
    });
    connectSession();
    connectView();
    retranslate();
}

void ChatPage::connectSession() {
    connect(&m_session, &ChatSession::textStreamed, m_announcer, &Announcer::read);
    connect(&m_session, &ChatSession::replyEnded, m_announcer, [this](const Turn& reply) {
        m_announcer->finish();
        m_announcer->say(reply.error);
    });
    connect(&m_session, &ChatSession::turnsReset, this, [this] {
        m_view->setTurns(m_session.turns());
        m_budgetTimer->start();
    });
    connect(&m_session, &ChatSession::chatCreated, this, [this] {
        if (m_keepDraft) m_keepDraft({});
        m_keepDraft = nullptr;
    });
    connect(&m_session, &ChatSession::turnAppended, m_view, &ChatView::appendTurn);
    connect(&m_session, &ChatSession::turnChanged, m_view, &ChatView::updateTurn);
    connect(&m_session, &ChatSession::textStreamed, m_view, &ChatView::streamText);
    connect(&m_session, &ChatSession::thoughtStreamed, m_view, &ChatView::streamThought);
    connect(&m_session, &ChatSession::busyChanged, m_composer, &Composer::setBusy);
    connect(&m_session, &ChatSession::busyChanged, this, [this](bool isBusy) {
        m_numRead = m_numToRead = 0;
        writeStatus();
        if (!isBusy) m_budgetTimer->start();
    });
    connect(&m_session, &ChatSession::prefillProgress, this, [this](quint32 done, quint32 total) {
        m_numRead = done;
        m_numToRead = total;
        writeStatus();
    });
    connect(&m_session, &ChatSession::budgetChanged, m_composer, &Composer::setBudget);
    connect(&m_session, &ChatSession::contextChanged, m_budgetTimer, qOverload<>(&QTimer::start));
    connect(&m_session, &ChatSession::contextFull, this, &ChatPage::offerOverflow);
    connect(&m_session, &ChatSession::noticed, this,
            [this](const NoticeWords& words) { showNotice(words); });
    connect(&m_session, &ChatSession::removed, this, [this](const QString& what) {
        showNotice([what] { return tr("Deleted: %1").arg(what); },
                   {{[] { return tr("Undo"); }, {}, [this] { m_session.undoRemove(); }}});
    });
}

void ChatPage::connectView() {
    connect(m_view, &ChatView::scrolled, m_saveTimer, qOverload<>(&QTimer::start));
    connect(m_view, &ChatView::copyRequested, this, [this](MessageId id) {
        QGuiApplication::clipboard()->setText(m_session.turn(id).content);
    });
    connect(m_view, &ChatView::editRequested, this, &ChatPage::beginEdit);
    connect(m_view, &ChatView::regenerateRequested, &m_session, &ChatSession::regenerate);
    connect(m_view, &ChatView::continueRequested, &m_session, &ChatSession::continueReply);
    connect(m_view, &ChatView::deleteRequested, &m_session, &ChatSession::remove);
    connect(m_view, &ChatView::versionRequested, &m_session, &ChatSession::showVersion);
    connect(m_view, &ChatView::linkActivated, this,
            [](const QUrl& url) { QDesktopServices::openUrl(url); });
}

void ChatPage::open(ChatStore& store, ChatId id) {
    save();
    m_keepDraft = nullptr;
    m_edited = 0;
    m_notice->dismiss();
    m_session.open(store, id);
    m_composer->setText(m_session.record().draft);
    m_view->setScrollPosition(m_session.record().scrollPosition);
    m_saveTimer->stop();
    m_composer->focusEdit();
}

void ChatPage::openNew(ChatStore& store, const QString& draft, const KeepDraft& keep) {
    open(store, 0);
    m_composer->setText(draft);
    m_keepDraft = keep;
}

void ChatPage::save() {
    m_budgetTimer->start();
    m_session.setScrollPosition(m_view->scrollPosition());
    if (m_edited != 0) return;
    m_session.setDraft(m_composer->text());
    if (m_session.chat() == 0 && m_keepDraft) m_keepDraft(m_composer->text());
}

void ChatPage::setReady(bool isReady, const QString& reason) {
    m_composer->setReady(isReady, reason);
    if (isReady) m_budgetTimer->start();
}

void ChatPage::setIsStarterModel(bool isStarter) {
    if (std::exchange(m_isStarterModel, isStarter) != isStarter) retranslate();
}

void ChatPage::showNotice(const NoticeWords& text, const QVector<NoticeAction>& actions) {
    m_notice->show(text, actions);
    m_announcer->say(text());
}

void ChatPage::writeStatus() {
    if (!m_session.isBusy()) return m_composer->setStatus({});
    if (m_numToRead == 0) return m_composer->setStatus(tr("Reading…"));
    m_composer->setStatus(m_numRead < m_numToRead
                              ? tr("Reading %1 of %2 tokens…").arg(m_numRead).arg(m_numToRead)
                              : tr("Writing…"));
}

void ChatPage::focusComposer() {
    m_composer->focusEdit();
}
void ChatPage::insertIntoComposer(const QString& text) {
    m_composer->insertText(text);
}

void ChatPage::copyLastReply() const {
    const QVector<Turn> turns = m_session.turns();
    for (auto turn = turns.crbegin(); turn != turns.crend(); ++turn) {
        if (turn->role != QLatin1String("assistant")) continue;
        QGuiApplication::clipboard()->setText(turn->content);
        return;
    }
}

void ChatPage::beginEdit(MessageId id) {
    if (id == 0 || m_session.isBusy()) return;
    const Turn turn = m_session.turn(id);
    if (m_edited == 0) m_draftBeforeEdit = m_composer->text();
    m_edited = id;
    m_composer->setText(turn.content);
    m_composer->focusEdit();
    const bool isPersons = turn.role == QLatin1String("user");
    showNotice([isPersons] {
        return isPersons
                   ? tr("You are editing a message; sending it begins a new version from here.")
                   : tr("You are editing a reply; sending it keeps your version beside it.");
    });
}

void ChatPage::endEdit() {
    m_composer->setText(std::exchange(m_draftBeforeEdit, {}));
    m_notice->hide();
}

void ChatPage::offerOverflow(const QString& whyNotGrown) {
    const auto choice = [this](const NoticeWords& text, const NoticeWords& help,
                               Overflow overflow) {
        return NoticeAction{text, help, [this, overflow] { m_session.goOn(overflow); }};
    };
    QVector<NoticeAction> actions{
        choice([] { return tr("Leave out the oldest"); },
               [] {
                   return tr(
                       "The model no longer reads the oldest turns; they stay in the conversation");
               },
               Overflow::drop_oldest),
        choice([] { return tr("Summarise the oldest"); },
               [] { return tr("The model reads a summary that it writes of the oldest turns"); },
               Overflow::summarise)};
    if (whyNotGrown.isEmpty())
        actions.append(choice([] { return tr("Enlarge the context"); },
                              [] {
                                  return tr(
                                      "As far as the memory and the model allow; it costs memory "
                                      "and some speed");
                              },
                              Overflow::grow));
    showNotice(
        [whyNotGrown] {
            const QString full =
                tr("The context is full: the model cannot read more of this conversation.");
            return whyNotGrown.isEmpty()
                       ? full
                       : full + QLatin1Char(' ') + warningText(whyNotGrown.toStdString());
        },
        actions);
}

void ChatPage::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) {
        retranslate();
        m_view->setTurns(m_session.turns());  // with their details
    }
    QWidget::changeEvent(event);
}

void ChatPage::retranslate() {
    writeStatus();
    QString hint = tr("Ask for a haiku, a letter, an idea. Everything stays on this machine.");
    if (m_isStarterModel)
        hint +=
            QLatin1Char('\n') +
            tr("This is the small starter model; larger ones write better: add one under Models "
               "(%1).")
                .arg(QKeySequence(Qt::CTRL | Qt::Key_M).toString(QKeySequence::NativeText));
    m_view->setEmptyState(tr("A quiet place to write"), hint);
}

}  // namespace hokku::desktop
