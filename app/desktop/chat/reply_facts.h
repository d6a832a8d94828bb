// SPDX-License-Identifier: Apache-2.0
// ReplyFacts: what is known of a reply beside its text. Stored as JSON with it, shown on demand.
#pragma once

#include <QString>
#include <QStringList>
#include <QVector>

#include "conversations/chat_store.h"
#include "hokku/engine.h"

namespace hokku::desktop {

struct ReplyFacts {
    qint64 numTokens = 0, numPromptTokens = 0, numCachedTokens = 0;
    double tokensPerSecond = 0, firstTokenMs = 0;
    QString reason;  ///< stop_reason_name(); empty: it has not ended, or was interrupted.
    QString model;   ///< Name of the file.
    QString error;   ///< Of a reply that failed.
    qint64 thoughtMs = 0;

    // What happened to the context while it was written.
    QVector<MessageId> dropped;  ///< No longer read by the model, from here on.
    QString summary;             ///< Of the dropped ones, by the model.
    QString lead;         ///< What stands before the first message that is still read: the summary.
    quint32 context = 0;  ///< Tokens, when turns were dropped. A longer one takes them back in.
    quint32 grownTo = 0;  ///< Tokens; 0: it stayed as it was.

    void setEnd(const GenerationStats& stats, StopReason stopReason);
    /// Whether it ended at the longest length or because the context was full.
    [[nodiscard]] bool isCut() const;
    /// "212 tokens · 98.0 tok/s · first token after 0.1 s · ended by itself"; empty: not known.
    [[nodiscard]] QString details() const;

    [[nodiscard]] QString toJson() const;
    /// What is missing or makes no sense is left at its default.
    static ReplyFacts fromJson(const QString& json);
};

}  // namespace hokku::desktop
