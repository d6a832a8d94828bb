// SPDX-License-Identifier: Apache-2.0
// ChatSession: how a reply comes about, from the request to its last word.
#include <utility>

#include "chat/chat_session.h"
#include "look/engine_text.h"

namespace hokku::desktop {

/// What comes while m_waiting is set belongs to the generation before.
void ChatSession::connectGenerator() {
    using qt::Generator;
    const auto isOurs = [this] { return m_reply && !m_waiting; };
    connect(&m_generator, &Generator::textArrived, this, [this, isOurs](const QString& text) {
        if (isOurs()) takeText(text);
    });
    connect(&m_generator, &Generator::thoughtArrived, this, [this, isOurs](const QString& text) {
        if (!isOurs()) return;
        m_reply->addThought(text);
        emit thoughtStreamed(text);
    });
    connect(&m_generator, &Generator::textWasThought, this, [this, isOurs] {
        if (isOurs()) takeTextAsThought();
    });
    connect(&m_generator, &Generator::turnsDropped, this,
            [this, isOurs](const DroppedTurns& dropped) {
                if (!isOurs()) return;
                m_reply->setDropped(dropped, contextTokens());
                emit turnChanged(turn(m_reply->id()));
                emit contextChanged();
            });
    connect(&m_generator, &Generator::contextGrown, this, [this, isOurs](quint32 tokens) {
        if (!isOurs()) return;
        m_reply->facts().grownTo = tokens;
        emit turnChanged(turn(m_reply->id()));
        emit contextChanged();
    });
    connect(&m_generator, &Generator::contextNotGrown, this,
            [this](const QString& reason) { m_notGrown = reason; });
    connect(&m_generator, &Generator::prefillProgress, this,
            [this, isOurs](quint32 done, quint32 total) {
                if (!isOurs()) return;
                emit prefillProgress(done, total);
                m_promptTokens = total;
                tellLength();
            });
    connect(&m_generator, &Generator::finished, this,
            [this](const GenerationStats& stats, StopReason reason) {
                if (m_waiting) return sendWaiting();
                if (m_reply) m_reply->facts().setEnd(stats, reason);
                const bool isStopped = reason == StopReason::cancelled;
                endReply(isStopped ? MessageState::stopped : MessageState::complete);
                if (reason == StopReason::context_full) emit contextFull(m_notGrown);
            });
    connect(&m_generator, &Generator::failed, this, [this](const Error& error) {
        if (m_waiting) return sendWaiting();
        const bool isTooLong = error.code == ErrorCode::limit_exceeded && error.where == "prompt";
        if (m_reply)
            m_reply->facts().error =
                isTooLong ? tr("the conversation is longer than the context") : errorText(error);
        endReply(MessageState::failed);
        if (isTooLong) emit contextFull(m_notGrown);
    });
}

// ---- beginning and ending
// ------------------------------------------------------------------------

/// A new reply to the path to `leaf`.
void ChatSession::answer(MessageId leaf) {
    m_chat.activeLeaf = leaf;
    emit turnsReset();
    startReply(leaf);
}

void ChatSession::goOn(Overflow overflow) {
    if (m_reply) return;
    m_chatOverflow = overflow;
    const MessageRecord last = m_messages.at(m_chat.activeLeaf);
    if (last.role != QLatin1String("assistant")) return;
    if (!last.content.isEmpty() || !last.thought.isEmpty()) return continueReply(last.id);
    // Nothing was written: no version worth keeping.
    if (!check(m_store->deleteMessage(last.id))) return;
    m_messages.remove(last.id);
    answer(last.parent);
}

void ChatSession::stop() {
    if (m_waiting) {
        // It has not begun: what still has to end is the one before.
        m_waiting.reset();
        return endReply(MessageState::stopped);
    }
    m_generator.stop();
}

quint32 ChatSession::contextTokens() const {
    return m_generator.model() ? m_generator.model()->context_tokens : 0;
}

/// Turns that were left out come back where a longer context has room for them, and for a reply.
ChatPrompt ChatSession::promptFor(MessageId leaf, const ReplyFacts& current) const {
    const quint32 context = contextTokens();
    ChatPrompt prompt = makeChatPrompt(m_messages, leaf, systemPrompt(), context, current);
    if (!prompt.hasTakenBack()) return prompt;
    const quint32 most = context - context / 4;
    if (m_generator.countTokens(requestFor(prompt)).value_or(0) <= most) return prompt;
    return makeChatPrompt(m_messages, leaf, systemPrompt(), 0, current);
}

GenerationRequest ChatSession::requestFor(const ChatPrompt& prompt) const {
    GenerationRequest request;
    request.messages = prompt.messages();
    request.sampling = m_sampling;
    request.max_tokens = m_maxTokens;
    request.thought_budget_tokens = m_thoughtBudget;
    request.overflow = m_chatOverflow.value_or(m_overflow);
    return request;
}

/// `begun`: a reply whose text is gone on with, in a version of its own.
void ChatSession::startReply(MessageId parent, const MessageRecord& begun) {
    const ChatPrompt prompt = promptFor(parent, ReplyFacts::fromJson(begun.statsJson));
    GenerationRequest request = requestFor(prompt);
    // Within a thought only where the model marks thoughts.
    const bool goesOn =
        !begun.content.isEmpty() || (!begun.thought.isEmpty() && m_generator.model() &&
                                     m_generator.model()->reply_format.has_thoughts);
    if (goesOn) {
        ChatMessage open;
        open.role = "assistant";
        open.content = begun.content.toStdString();
        open.thought = begun.thought.toStdString();
        request.messages.push_back(std::move(open));
        request.continue_final_message = true;
    }
    MessageRecord record{
        .parent = parent, .role = QStringLiteral("assistant"), .state = MessageState::streaming};
    if (goesOn) {
        record.content = begun.content;
        record.thought = begun.thought;
        record.statsJson = begun.statsJson;
    }
    const MessageId id = add(record);
    if (id == 0) return;
    m_reply.emplace(m_messages.at(id), prompt);
    rememberModel();
    m_notGrown.clear();
    m_promptTokens = 0;
    emit turnAppended(turn(id));
    emit busyChanged(true);
    m_storeTimer.start();
    m_waiting = std::move(request);
    if (!m_generator.isGenerating()) sendWaiting();
}

/// With the conversation, and with the reply.
void ChatSession::rememberModel() {
    if (!m_generator.model()) return;
    const std::filesystem::path& path = m_generator.model()->path;
    m_reply->facts().model = QString::fromStdU16String(path.stem().u16string());
    const QString text = QString::fromStdU16String(path.u16string());
    if (std::exchange(m_chat.modelPath, text) != text) storeRecord();
}

void ChatSession::sendWaiting() {
    const GenerationRequest request = *std::exchange(m_waiting, std::nullopt);
    if (m_reply) m_generator.send(request);
}

// ---- what arrives
// --------------------------------------------------------------------------------

void ChatSession::takeText(const QString& text) {
    const bool hasThought = m_reply->addText(text);
    emit textStreamed(text);
    // How long it thought is known now.
    if (hasThought) emit turnChanged(turn(m_reply->id()));
}

void ChatSession::takeTextAsThought() {
    m_reply->turnTextToThought();
    // What is stored of it is stored as text.
    if (check(m_store->finishMessage(m_reply->record()))) m_reply->markStored();
    emit turnChanged(turn(m_reply->id()));
}

void ChatSession::storeStreamed() {
    if (!m_reply) return;
    if (m_promptTokens > 0) tellLength();
    const QString text = m_reply->unstoredText(), thought = m_reply->unstoredThought();
    if (text.isEmpty() && thought.isEmpty()) return;
    if (check(m_store->appendText(m_reply->id(), text, thought))) m_reply->markStored();
}

void ChatSession::endReply(MessageState state) {
    if (!m_reply) return;
    m_storeTimer.stop();
    MessageRecord record = m_reply->record();
    record.state = state;
    m_messages[record.id] = record;
    m_reply.reset();
    check(m_store->finishMessage(record));
    emit busyChanged(false);
    const Turn ended = turn(record.id);
    emit turnChanged(ended);
    emit replyEnded(ended);
}

/// While a reply is written: the prompt as the engine has it, and what is written since.
void ChatSession::tellLength() {
    GenerationRequest written;
    written.raw_text = m_reply->addedText().toStdString();
    const quint32 tokens =
        written.raw_text->empty() ? 0 : m_generator.countTokens(written).value_or(0);
    emit budgetChanged(m_promptTokens + tokens + m_draftTokens, contextTokens());
}

void ChatSession::updateBudget(const QString& draft) {
    if (!m_generator.model()) return emit budgetChanged(0, 0);
    GenerationRequest alone;
    alone.raw_text = draft.toStdString();
    m_draftTokens = draft.isEmpty() ? 0 : m_generator.countTokens(alone).value_or(0);
    if (m_reply && m_promptTokens > 0) return tellLength();
    ChatPrompt prompt = promptFor(m_chat.activeLeaf);
    MessageRecord written{.role = QStringLiteral("user")};
    written.content = draft;
    prompt.add(written);
    if (prompt.messages().empty()) return emit budgetChanged(0, contextTokens());
    emit budgetChanged(m_generator.countTokens(requestFor(prompt)).value_or(0), contextTokens());
}

}  // namespace hokku::desktop
