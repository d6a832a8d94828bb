// SPDX-License-Identifier: Apache-2.0
// ChatSession: the conversation that is open: it stores what is written, asks the generator for
// replies and says what changed. The view shows it, the window drives it.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QTimer>
#include <QVector>
#include <functional>
#include <optional>

#include "chat/transcript.h"
#include "conversations/chat_store.h"
#include "hokku/qt/generator.h"

namespace hokku::desktop {

/// What to do when the conversation no longer fits into the context.
enum class OverflowChoice { stop, dropOldest };

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

    /// Of new replies.
    void setSampling(const SamplingOptions& sampling, uint32_t maxTokens);
    void setMaxTokens(uint32_t maxTokens) { m_maxTokens = maxTokens; }
    void setSystemPrompt(const QString& text);
    void setOverflow(OverflowChoice choice) { m_overflow = choice; }
    void setDraft(const QString& text);
    void setScrollPosition(double position);
    /// Counts the tokens of the conversation with `draft`; budgetChanged() follows.
    void updateBudget(const QString& draft);

  public slots:
    void send(const QString& text);
    void stop();
    void regenerate(hokku::desktop::MessageId reply);
    /// The message gets a new version, and a new reply when it is of a person.
    void edit(hokku::desktop::MessageId message, const QString& text);
    void continueReply(hokku::desktop::MessageId reply);
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
    /// Tokens that the next prompt would have, and room for. used 0: not known.
    void budgetChanged(quint32 used, quint32 total);
    void contextFull();
    void removed(const QString& what);
    /// Something that the person has to know (a disk that is full, turns that were left out).
    void noticed(const QString& text);

  private:
    struct Reply {
        MessageId id = 0;
        QString text{}, thought{};  ///< All of it.
        qsizetype numStored = 0, numThoughtStored = 0;
        QElapsedTimer thinking{};
        qint64 thoughtMs = 0;
    };
    void makeRoom(GenerationRequest& request);
    void startReply(MessageId parent, const QString& prefix = {});
    void sendWaiting();
    void storeStreamed();
    void endReply(MessageState state, const QString& statsJson, const QString& error);
    [[nodiscard]] GenerationRequest requestFor(MessageId leaf) const;
    [[nodiscard]] QVector<MessageId> pathTo(MessageId leaf) const;
    void takeMessages(const QVector<MessageRecord>& messages);
    void storeRecord();
    [[nodiscard]] QVector<MessageId> siblings(MessageId id) const;
    [[nodiscard]] MessageId deepestBelow(MessageId id) const;
    MessageId add(MessageId parent, const QString& role, const QString& text, MessageState state);
    void selectLeaf(MessageId leaf);
    template <class T>
    bool check(const Result<T>& result);

    qt::Generator& m_generator;
    ChatStore* m_store = nullptr;
    ChatRecord m_chat;
    QHash<MessageId, MessageRecord> m_messages;
    QVector<MessageId> m_order;  ///< As they were written.
    std::optional<Reply> m_reply;
    /// Of the reply, until the generation before, which was stopped, has said its last word.
    std::optional<GenerationRequest> m_waiting;
    QTimer m_storeTimer;
    SamplingOptions m_sampling;
    uint32_t m_maxTokens = 0;
    OverflowChoice m_overflow = OverflowChoice::stop;
    QVector<MessageId> m_lastRemoved;
    QHash<MessageId, QString> m_errors;
    QHash<MessageId, qint64> m_thoughtMs;
};

}  // namespace hokku::desktop
