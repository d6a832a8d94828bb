// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_session.h"

#include <algorithm>

#include "chat/reply_details.h"
#include "look/engine_text.h"

namespace hokku::desktop {
namespace {

/// How often streamed text is stored: so that, with the time that storing takes, what is on the
/// disk is never more than a second behind.
constexpr int kStoreEveryMs = 700;

QString firstLineOf(const QString& text) {
    constexpr int kMostCharacters = 80;
    const QString line = text.trimmed().section(QLatin1Char('\n'), 0, 0).trimmed();
    return line.size() <= kMostCharacters ? line : line.left(kMostCharacters - 1) + QChar(0x2026);
}

/// Templates insist on turns that alternate; what stops and edits leave is mended here: a turn
/// without text is left out, turns of the same role become one.
void addTurn(GenerationRequest& request, const QString& role, const QString& content) {
    if (content.trimmed().isEmpty()) return;
    const std::string name = role.toStdString();
    if (!request.messages.empty() && request.messages.back().role == name) {
        request.messages.back().content += "\n\n" + content.toStdString();
        return;
    }
    ChatMessage turn;
    turn.role = name;
    turn.content = content.toStdString();
    request.messages.push_back(std::move(turn));
}

}  // namespace

ChatSession::ChatSession(qt::Generator& generator, QObject* parent)
    : QObject(parent), m_generator(generator) {
    m_storeTimer.setInterval(kStoreEveryMs);
    m_storeTimer.setTimerType(Qt::PreciseTimer);
    connect(&m_storeTimer, &QTimer::timeout, this, &ChatSession::storeStreamed);
    connect(&generator, &qt::Generator::textArrived, this, [this](const QString& text) {
        if (!m_reply || m_waiting) return;
        if (m_reply->thoughtMs == 0 && !m_reply->thought.isEmpty())
            m_reply->thoughtMs = m_reply->thinking.elapsed();
        m_reply->text += text;
        emit textStreamed(text);
    });
    connect(&generator, &qt::Generator::thoughtArrived, this, [this](const QString& text) {
        if (!m_reply || m_waiting) return;
        m_reply->thought += text;
        emit thoughtStreamed(text);
    });
    connect(&generator, &qt::Generator::prefillProgress, this, [this](quint32 done, quint32 total) {
        if (m_reply && !m_waiting) emit prefillProgress(done, total);
    });
    connect(&generator, &qt::Generator::finished, this,
            [this](const GenerationStats& stats, StopReason reason) {
                if (m_waiting) return sendWaiting();
                const bool isStopped = reason == StopReason::cancelled;
                endReply(isStopped ? MessageState::stopped : MessageState::complete,
                         replyStatsJson(stats, reason), {});
                if (reason == StopReason::context_full) emit contextFull();
            });
    connect(&generator, &qt::Generator::failed, this, [this](const Error& error) {
        if (m_waiting) return sendWaiting();
        endReply(MessageState::failed, {}, errorText(error));
        if (error.code == ErrorCode::limit_exceeded) emit contextFull();
    });
}

ChatSession::~ChatSession() {
    if (m_reply) storeStreamed();
}

void ChatSession::open(ChatStore& store, ChatId id) {
    if (m_reply) {
        // The generator's last events no longer concern this session: end the reply here.
        m_generator.stop();
        endReply(MessageState::stopped, {}, {});
        m_waiting.reset();
    }
    m_store = &store;
    m_chat = {};
    takeMessages({});
    m_lastRemoved.clear();
    m_errors.clear();
    m_overflow = OverflowChoice::stop;
    if (id != 0) {
        const Result<ChatRecord> record = store.chat(id);
        const Result<QVector<MessageRecord>> messages = store.messages(id);
        if (check(record) && check(messages)) {
            m_chat = *record;
            takeMessages(*messages);
        }
    }
    emit turnsReset();
}

void ChatSession::takeMessages(const QVector<MessageRecord>& messages) {
    m_messages.clear();
    m_order.clear();
    for (const MessageRecord& message : messages) {
        m_messages.insert(message.id, message);
        m_order.append(message.id);
    }
}

template <class T>
bool ChatSession::check(const Result<T>& result) {
    if (result.ok()) return true;
    emit noticed(errorText(result.error()));
    return false;
}

// ---- the tree
// ------------------------------------------------------------------------------------

/// The store leaves out messages that are not younger than their parent: there are no cycles.
QVector<MessageId> ChatSession::pathTo(MessageId leaf) const {
    QVector<MessageId> path;
    for (MessageId id = leaf; m_messages.contains(id); id = m_messages[id].parent) path.prepend(id);
    return path;
}

QVector<MessageId> ChatSession::siblings(MessageId id) const {
    QVector<MessageId> found;
    const MessageRecord message = m_messages.value(id);
    for (const MessageId other : m_order) {
        const MessageRecord& candidate = m_messages[other];
        if (candidate.parent == message.parent && candidate.role == message.role)
            found.append(other);
    }
    return found;
}

MessageId ChatSession::deepestBelow(MessageId id) const {
    for (bool hasChild = true; hasChild;) {
        hasChild = false;
        for (auto child = m_order.crbegin(); child != m_order.crend(); ++child) {
            if (*child <= id || m_messages[*child].parent != id) continue;
            id = *child;
            hasChild = true;
            break;
        }
    }
    return id;
}

Turn ChatSession::turn(MessageId id) const {
    const MessageRecord& message = m_messages[id];
    const QVector<MessageId> versions = siblings(id);
    Turn turn{.id = id,
              .role = message.role,
              .content = message.content,
              .thought = message.thought,
              .thoughtMs = m_thoughtMs.value(id),
              .state = message.state,
              .version = static_cast<int>(versions.indexOf(id)) + 1,
              .numVersions = static_cast<int>(versions.size()),
              .isCut = wasCut(message.statsJson),
              .details = replyDetails(message.statsJson),
              .error = m_errors.value(id)};
    if (m_reply && m_reply->id == id) {
        turn.content = m_reply->text;
        turn.thought = m_reply->thought;
    }
    return turn;
}

QVector<Turn> ChatSession::turns() const {
    QVector<Turn> turns;
    for (const MessageId id : pathTo(m_chat.activeLeaf)) turns.append(turn(id));
    return turns;
}

MessageId ChatSession::lastUserMessage() const {
    const QVector<MessageId> ids = pathTo(m_chat.activeLeaf);
    for (auto id = ids.crbegin(); id != ids.crend(); ++id)
        if (m_messages[*id].role == QLatin1String("user")) return *id;
    return 0;
}

QString ChatSession::lastUserText() const {
    return m_messages.value(lastUserMessage()).content;
}

void ChatSession::selectLeaf(MessageId leaf) {
    m_chat.activeLeaf = leaf;
    check(m_store->setActiveLeaf(m_chat.id, leaf));
}

MessageId ChatSession::add(MessageId parent, const QString& role, const QString& text,
                           MessageState state) {
    if (m_chat.id == 0) {
        m_chat.firstLine = firstLineOf(text);
        const Result<ChatId> created = m_store->createChat(m_chat);
        if (!check(created)) return 0;
        m_chat.id = *created;
        emit chatCreated(m_chat.id);
    }
    MessageRecord record{.chat = m_chat.id,
                         .parent = parent,
                         .role = role,
                         .content = text,
                         .state = state,
                         .created = QDateTime::currentDateTimeUtc()};
    const Result<MessageId> id = m_store->addMessage(record);
    if (!check(id)) return 0;
    record.id = *id;
    m_messages.insert(record.id, record);
    m_order.append(record.id);
    m_chat.activeLeaf = record.id;
    return record.id;
}

// ---- what a person does
// --------------------------------------------------------------------------

void ChatSession::send(const QString& text) {
    if (m_reply || m_store == nullptr || text.trimmed().isEmpty()) return;
    // On the disk before inference starts.
    const MessageId id =
        add(m_chat.activeLeaf, QStringLiteral("user"), text, MessageState::complete);
    if (id == 0) return;
    emit turnAppended(turn(id));
    startReply(id);
}

void ChatSession::stop() {
    if (m_waiting) {
        // It has not begun: what still has to end is the one before.
        m_waiting.reset();
        return endReply(MessageState::stopped, {}, {});
    }
    m_generator.stop();
}

void ChatSession::regenerate(MessageId reply) {
    if (m_reply || !m_messages.contains(reply)) return;
    m_chat.activeLeaf = m_messages[reply].parent;
    emit turnsReset();
    startReply(m_chat.activeLeaf);
}

void ChatSession::edit(MessageId message, const QString& text) {
    if (m_reply || !m_messages.contains(message) || text.trimmed().isEmpty()) return;
    const MessageRecord old = m_messages[message];
    const MessageId id = add(old.parent, old.role, text, MessageState::complete);
    if (id == 0) return;
    emit turnsReset();
    if (old.role == QLatin1String("user")) startReply(id);
}

void ChatSession::continueReply(MessageId reply) {
    if (m_reply || !m_messages.contains(reply)) return;
    const MessageRecord old = m_messages[reply];
    m_chat.activeLeaf = old.parent;
    emit turnsReset();
    startReply(old.parent, old.content);
}

void ChatSession::remove(MessageId message) {
    if (m_reply || !m_messages.contains(message)) return;
    if (!check(m_store->deleteMessage(message))) return;
    const MessageId parent = m_messages[message].parent;
    const QVector<MessageId> versions = siblings(message);
    m_lastRemoved.append(message);
    const QString what = m_messages[message].content;
    m_messages.remove(message);
    m_order.removeAll(message);
    // Another version takes its place, else the conversation ends before it.
    MessageId next = parent;
    for (const MessageId version : versions)
        if (version != message) next = deepestBelow(version);
    selectLeaf(next);
    emit turnsReset();
    emit removed(firstLineOf(what));
}

void ChatSession::undoRemove() {
    if (m_lastRemoved.isEmpty() || m_reply) return;
    const MessageId message = m_lastRemoved.takeLast();
    if (!check(m_store->restoreMessage(message))) return;
    const Result<QVector<MessageRecord>> messages = m_store->messages(m_chat.id);
    if (!check(messages)) return;
    takeMessages(*messages);
    selectLeaf(deepestBelow(message));
    emit turnsReset();
}

void ChatSession::showVersion(MessageId message, int step) {
    if (m_reply) return;
    const QVector<MessageId> versions = siblings(message);
    const qsizetype index = versions.indexOf(message) + step;
    if (index < 0 || index >= versions.size()) return;
    selectLeaf(deepestBelow(versions[index]));
    emit turnsReset();
}

// ---- replies
// -------------------------------------------------------------------------------------

void ChatSession::setSampling(const SamplingOptions& sampling, uint32_t maxTokens) {
    m_sampling = sampling;
    m_maxTokens = maxTokens;
}

void ChatSession::setSystemPrompt(const QString& text) {
    m_chat.systemPrompt = text;
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

void ChatSession::storeRecord() {
    if (m_chat.id != 0 && m_store != nullptr) check(m_store->updateChat(m_chat));
}

GenerationRequest ChatSession::requestFor(MessageId leaf) const {
    GenerationRequest request;
    request.sampling = m_sampling;
    request.max_tokens = m_maxTokens;
    addTurn(request, QStringLiteral("system"), m_chat.systemPrompt);
    for (const MessageId id : pathTo(leaf))
        addTurn(request, m_messages[id].role, m_messages[id].content);
    return request;
}

/// Leaves out the oldest turns, but for the system prompt and the last message of a person, until
/// a quarter of the context is free for the reply. Says which.
void ChatSession::makeRoom(GenerationRequest& request) {
    if (!m_generator.model()) return;
    const uint32_t most = m_generator.model()->context_tokens / 4 * 3;
    std::vector<ChatMessage>& messages = request.messages;
    const auto isFrom = [](const ChatMessage& turn, const char* role) { return turn.role == role; };
    const ptrdiff_t first = !messages.empty() && isFrom(messages[0], "system") ? 1 : 0;
    QStringList leftOut;
    while (m_generator.countTokens(request).value_or(0) > most) {
        // A turn of a person goes with all that answers it.
        const auto oldest = messages.begin() + first;
        const auto next =
            std::find_if(oldest + (oldest != messages.end() ? 1 : 0), messages.end(),
                         [&](const ChatMessage& turn) { return isFrom(turn, "user"); });
        if (next == messages.end()) break;
        leftOut.append(firstLineOf(QString::fromStdString(oldest->content)));
        messages.erase(oldest, next);
    }
    if (leftOut.isEmpty()) return;
    emit noticed(tr("The context is full. The model no longer reads: %1")
                     .arg(leftOut.join(QStringLiteral(" · "))));
}

void ChatSession::startReply(MessageId parent, const QString& prefix) {
    GenerationRequest request = requestFor(parent);
    if (!prefix.isEmpty()) {
        ChatMessage open;
        open.role = "assistant";
        open.content = prefix.toStdString();
        request.messages.push_back(std::move(open));
        request.continue_final_message = true;
    }
    if (m_overflow == OverflowChoice::dropOldest) makeRoom(request);
    const MessageId id = add(parent, QStringLiteral("assistant"), prefix, MessageState::streaming);
    if (id == 0) return;
    m_reply = Reply{.id = id, .text = prefix, .numStored = prefix.size()};
    m_reply->thinking.start();
    emit turnAppended(turn(id));
    emit busyChanged(true);
    m_storeTimer.start();
    m_waiting = std::move(request);
    if (!m_generator.isGenerating()) sendWaiting();
}

void ChatSession::sendWaiting() {
    const GenerationRequest request = *std::exchange(m_waiting, std::nullopt);
    if (m_reply) m_generator.send(request);
}

void ChatSession::storeStreamed() {
    if (!m_reply) return;
    const QString text = m_reply->text.mid(m_reply->numStored);
    const QString thought = m_reply->thought.mid(m_reply->numThoughtStored);
    if (text.isEmpty() && thought.isEmpty()) return;
    if (!check(m_store->appendText(m_reply->id, text, thought))) return;
    m_reply->numStored += text.size();
    m_reply->numThoughtStored += thought.size();
}

void ChatSession::endReply(MessageState state, const QString& statsJson, const QString& error) {
    if (!m_reply) return;
    m_storeTimer.stop();
    MessageRecord& record = m_messages[m_reply->id];
    record.content = m_reply->text;
    record.thought = m_reply->thought;
    record.state = state;
    record.statsJson = statsJson;
    m_thoughtMs.insert(record.id, m_reply->thoughtMs);
    if (!error.isEmpty()) m_errors.insert(record.id, error);
    m_reply.reset();
    check(m_store->finishMessage(record));
    emit busyChanged(false);
    const Turn ended = turn(record.id);
    emit turnChanged(ended);
    emit replyEnded(ended);
}

void ChatSession::updateBudget(const QString& draft) {
    if (!m_generator.model()) return emit budgetChanged(0, 0);
    GenerationRequest request = requestFor(m_chat.activeLeaf);
    addTurn(request, QStringLiteral("user"), draft);
    const uint32_t total = m_generator.model()->context_tokens;
    if (request.messages.empty()) return emit budgetChanged(0, total);
    emit budgetChanged(m_generator.countTokens(request).value_or(0), total);
}

}  // namespace hokku::desktop
