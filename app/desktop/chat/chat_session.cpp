// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_session.h"

#include <utility>

#include "chat/context_notes.h"
#include "look/engine_text.h"

namespace hokku::desktop {
namespace {

/// How often streamed text is stored: so that, with the time that storing takes, what is on the
/// disk is never more than a second behind.
constexpr int kStoreEveryMs = 700;

}  // namespace

ChatSession::ChatSession(qt::Generator& generator, QObject* parent)
    : QObject(parent), m_generator(generator) {
    m_storeTimer.setInterval(kStoreEveryMs);
    m_storeTimer.setTimerType(Qt::PreciseTimer);
    connect(&m_storeTimer, &QTimer::timeout, this, &ChatSession::storeStreamed);
    connectGenerator();
}

ChatSession::~ChatSession() {
    if (m_reply) storeStreamed();
}

void ChatSession::open(ChatStore& store, ChatId id) {
    if (m_reply) {
        // The generator's last events no longer concern this session: end the reply here.
        m_generator.stop();
        endReply(MessageState::stopped);
        m_waiting.reset();
    }
    m_store = &store;
    m_chat = {};
    m_messages.setMessages({});
    m_lastRemoved.clear();
    m_chatOverflow.reset();
    if (id != 0) {
        const Result<ChatRecord> record = store.chat(id);
        const Result<QVector<MessageRecord>> messages = store.messages(id);
        if (check(record) && check(messages)) {
            m_chat = *record;
            m_messages.setMessages(*messages);
        }
    }
    emit turnsReset();
}

void ChatSession::report(const Error& error) {
    emit noticed([error] { return errorText(error); });
}

// ---- what is there
// -------------------------------------------------------------------------------

Turn ChatSession::turn(MessageId id) const {
    const bool isStreaming = m_reply && m_reply->id() == id;
    const MessageRecord message = isStreaming ? m_reply->record() : m_messages.at(id);
    const QVector<MessageId> versions = m_messages.versions(id);
    const ReplyFacts facts = ReplyFacts::fromJson(message.statsJson);
    return {.id = id,
            .role = message.role,
            .content = message.content,
            .thought = message.thought,
            .thoughtMs = facts.thoughtMs,
            .state = message.state,
            .version = static_cast<int>(versions.indexOf(id)) + 1,
            .numVersions = static_cast<int>(versions.size()),
            .isCut = facts.isCut(),
            .notes = contextNotes(facts, m_messages),
            .details = facts.details(),
            .summary = facts.summary,
            .error = facts.error};
}

QVector<Turn> ChatSession::turns() const {
    QVector<Turn> turns;
    for (const MessageId id : m_messages.pathTo(m_chat.activeLeaf)) turns.append(turn(id));
    return turns;
}

MessageId ChatSession::lastUserMessage() const {
    return m_messages.lastOfPerson(m_chat.activeLeaf);
}

QString ChatSession::lastUserText() const {
    return m_messages.at(lastUserMessage()).content;
}

void ChatSession::selectLeaf(MessageId leaf) {
    m_chat.activeLeaf = leaf;
    check(m_store->setActiveLeaf(m_chat.id, leaf));
}

MessageId ChatSession::add(const MessageRecord& message) {
    if (m_chat.id == 0) {
        m_chat.firstLine = firstLineOf(message.content);
        const Result<ChatId> created = m_store->createChat(m_chat);
        if (!check(created)) return 0;
        m_chat.id = *created;
        emit chatCreated(m_chat.id);
    }
    MessageRecord record = message;
    record.chat = m_chat.id;
    record.created = QDateTime::currentDateTimeUtc();
    const Result<MessageId> id = m_store->addMessage(record);
    if (!check(id)) return 0;
    record.id = *id;
    m_messages.add(record);
    m_chat.activeLeaf = record.id;
    return record.id;
}

// ---- what a person does
// --------------------------------------------------------------------------

void ChatSession::send(const QString& text) {
    if (m_reply || m_store == nullptr || text.trimmed().isEmpty()) return;
    // On the disk before inference starts.
    MessageRecord message{.parent = m_chat.activeLeaf, .role = QStringLiteral("user")};
    message.content = text;
    const MessageId id = add(message);
    if (id == 0) return;
    emit turnAppended(turn(id));
    startReply(id);
}

void ChatSession::regenerate(MessageId reply) {
    if (m_reply || !m_messages.contains(reply)) return;
    answer(m_messages.at(reply).parent);
}

void ChatSession::edit(MessageId message, const QString& text) {
    if (m_reply || !m_messages.contains(message) || text.trimmed().isEmpty()) return;
    const MessageRecord old = m_messages.at(message);
    MessageRecord edited{.parent = old.parent, .role = old.role};
    edited.content = text;
    const MessageId id = add(edited);
    if (id == 0) return;
    emit turnsReset();
    if (old.role == QLatin1String("user")) startReply(id);
}

void ChatSession::continueReply(MessageId reply) {
    if (m_reply || !m_messages.contains(reply)) return;
    const MessageRecord old = m_messages.at(reply);
    m_chat.activeLeaf = old.parent;
    emit turnsReset();
    startReply(old.parent, old);
}

void ChatSession::remove(MessageId message) {
    if (m_reply || !m_messages.contains(message)) return;
    if (!check(m_store->deleteMessage(message))) return;
    const MessageRecord old = m_messages.at(message);
    const QVector<MessageId> versions = m_messages.versions(message);
    m_lastRemoved.append(message);
    m_messages.remove(message);
    // Another version takes its place, else the conversation ends before it.
    MessageId next = old.parent;
    for (const MessageId version : versions)
        if (version != message) next = m_messages.deepestBelow(version);
    selectLeaf(next);
    emit turnsReset();
    emit removed(firstLineOf(old.content));
}

void ChatSession::undoRemove() {
    if (m_lastRemoved.isEmpty() || m_reply) return;
    const MessageId message = m_lastRemoved.takeLast();
    if (!check(m_store->restoreMessage(message))) return;
    const Result<QVector<MessageRecord>> messages = m_store->messages(m_chat.id);
    if (!check(messages)) return;
    m_messages.setMessages(*messages);
    selectLeaf(m_messages.deepestBelow(message));
    emit turnsReset();
}

void ChatSession::showVersion(MessageId message, int step) {
    if (m_reply) return;
    const QVector<MessageId> versions = m_messages.versions(message);
    const qsizetype index = versions.indexOf(message) + step;
    if (index < 0 || index >= versions.size()) return;
    selectLeaf(m_messages.deepestBelow(versions[index]));
    emit turnsReset();
}

// ---- what replies are made with
// ------------------------------------------------------------------

void ChatSession::setSampling(const SamplingOptions& sampling, uint32_t maxTokens,
                              std::optional<uint32_t> thoughtBudget) {
    m_sampling = sampling;
    m_maxTokens = maxTokens;
    m_thoughtBudget = thoughtBudget;
}

void ChatSession::choosePreset(const QString& key) {
    if (m_chat.preset == key && m_chat.systemPrompt.isNull()) return;
    m_chat.preset = key;
    m_chat.systemPrompt = QString();
    storeRecord();
}

void ChatSession::setPresetPrompt(const QString& text) {
    m_presetPrompt = text;
    emit contextChanged();
}

void ChatSession::setSystemPrompt(const QString& text) {
    m_chat.systemPrompt = text;
    storeRecord();
}

void ChatSession::setDraft(const QString& text) {
    if (m_chat.draft == text) return;
    m_chat.draft = text;
    storeRecord();
}

void ChatSession::setScrollPosition(double position) {
    if (m_chat.scrollPosition == position) return;
    m_chat.scrollPosition = position;
    storeRecord();
}

void ChatSession::refreshRecord() {
    if (m_chat.id == 0 || m_store == nullptr) return;
    const Result<ChatRecord> stored = m_store->chat(m_chat.id);
    if (!stored.ok()) return;
    m_chat.title = stored->title;
    m_chat.folder = stored->folder;
    m_chat.isPinned = stored->isPinned;
}

/// Title, folder and pin are the sidebar's.
void ChatSession::storeRecord() {
    refreshRecord();
    if (m_chat.id != 0 && m_store != nullptr) check(m_store->updateChat(m_chat));
}

}  // namespace hokku::desktop
