// SPDX-License-Identifier: Apache-2.0
// ChatSession: the conversation that is open: it stores what is written, asks the generator for
// replies and says what changed. The view shows it, the window drives it.
#pragma once

#include <QObject>
#include <QTimer>
#include <QVector>
#include <optional>

#include "chat/chat_prompt.h"
#include "chat/message_tree.h"
#include "chat/streamed_reply.h"
#include "chat/transcript.h"
#include "conversations/chat_store.h"
#include "hokku/qt/generator.h"
#include "look/notice_words.h"

namespace hokku::desktop {

/// Threads: the UI thread. `generator` and the stores must outlive it.
class ChatSession : public QObject {
    Q_OBJECT

  public:
    ChatSession(qt::Generator& generator, QObject* parent = nullptr);
    ~ChatSession() override;

    /// Opens a chat of `store`; an id of 0 is a new chat, stored when its first message is sent.
    void open(ChatStore& store, ChatId id);
    [[nodiscard]] ChatId chat() const { return m_chat.id; }
    [[nodiscard]] const ChatRecord& record() const { return m_chat; }
    [[nodiscard]] QVector<Turn> turns() const;
    [[nodiscard]] Turn turn(MessageId id) const;  ///< On the active path or not.
    [[nodiscard]] bool isBusy() const { return m_reply.has_value(); }
    [[nodiscard]] QString lastUserText() const;
    [[nodiscard]] MessageId lastUserMessage() const;

    /// Of new replies. Without a budget of thoughts the model thinks as long as it wants.
    void setSampling(const SamplingOptions& sampling, uint32_t maxTokens,
                     std::optional<uint32_t> thoughtBudget = {});
    void setMaxTokens(uint32_t maxTokens) { m_maxTokens = maxTokens; }
    /// Remembers the preset with the conversation, which then has its system prompt.
    void choosePreset(const QString& key);
    /// The system prompt, where the conversation has none of its own.
    void setPresetPrompt(const QString& text);
    /// One of its own.
    void setSystemPrompt(const QString& text);
    /// What happens when the context is full, where nothing else was chosen in this chat.
    void setOverflow(Overflow overflow) { m_overflow = overflow; }
    void setDraft(const QString& text);
    void setScrollPosition(double position);
    /// Takes over what was changed elsewhere: title, folder, pin.
    void refreshRecord();
    /// Counts the tokens of the conversation with `draft`; budgetChanged() follows.
    void updateBudget(const QString& draft);

  public slots:
    void send(const QString& text);
    void stop();
    void regenerate(hokku::desktop::MessageId reply);
    /// The message gets a new version, and a new reply when it is of a person.
    void edit(hokku::desktop::MessageId message, const QString& text);
    void continueReply(hokku::desktop::MessageId reply);
    /// The context is full: from now on in this chat that is dealt with so, and the reply that it
    /// cut off, or did not let begin, goes on.
    void goOn(hokku::Overflow overflow);
    void remove(hokku::desktop::MessageId message);
    void undoRemove();
    void showVersion(hokku::desktop::MessageId message, int step);

  signals:
    void turnsReset();
    void turnAppended(const hokku::desktop::Turn& turn);
    void turnChanged(const hokku::desktop::Turn& turn);
    void textStreamed(const QString& text);
    void thoughtStreamed(const QString& text);
    void busyChanged(bool isBusy);
    void replyEnded(const hokku::desktop::Turn& turn);
    void chatCreated(hokku::desktop::ChatId id);
    void prefillProgress(quint32 done, quint32 total);
    void contextChanged();  ///< It is longer, or turns were left out of it.
    /// Tokens that the next prompt would have, and room for. used 0: not known.
    void budgetChanged(quint32 used, quint32 total);
    /// `reason`: why it could not be made longer, if that was tried.
    void contextFull(const QString& reason);
    void removed(const QString& what);
    /// Something that the person has to know (a disk that is full, turns that were left out).
    void noticed(const hokku::desktop::NoticeWords& words);

  private:
    void connectGenerator();
    void takeText(const QString& text);
    void takeTextAsThought();
    void answer(MessageId leaf);
    void startReply(MessageId parent, const MessageRecord& begun = {});
    void rememberModel();
    void tellLength();
    void sendWaiting();
    void storeStreamed();
    void endReply(MessageState state);
    [[nodiscard]] quint32 contextTokens() const;
    [[nodiscard]] ChatPrompt promptFor(MessageId leaf, const ReplyFacts& current = {}) const;
    [[nodiscard]] GenerationRequest requestFor(const ChatPrompt& prompt) const;
    [[nodiscard]] QString systemPrompt() const {
        return m_chat.systemPrompt.isNull() ? m_presetPrompt : m_chat.systemPrompt;
    }
    void storeRecord();
    MessageId add(const MessageRecord& message);
    void selectLeaf(MessageId leaf);
    template <class T>
    bool check(const Result<T>& result) {
        if (!result.ok()) report(result.error());
        return result.ok();
    }
    void report(const Error& error);

    qt::Generator& m_generator;
    ChatStore* m_store = nullptr;
    ChatRecord m_chat;
    MessageTree m_messages;
    std::optional<StreamedReply> m_reply;
    QString m_notGrown;  ///< Why the context could not be made longer for it.
    /// Of the reply, until the generation before, which was stopped, has said its last word.
    std::optional<GenerationRequest> m_waiting;
    QTimer m_storeTimer;
    SamplingOptions m_sampling;
    QString m_presetPrompt;
    uint32_t m_maxTokens = 0;
    std::optional<uint32_t> m_thoughtBudget;
    Overflow m_overflow = Overflow::stop;
    std::optional<Overflow> m_chatOverflow;  ///< Chosen in this chat.
    QVector<MessageId> m_lastRemoved;
    /// Of what is being written by the person, and of what the reply was asked with (0: not known).
    quint32 m_draftTokens = 0, m_promptTokens = 0;
};

}  // namespace hokku::desktop
