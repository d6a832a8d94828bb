// SPDX-License-Identifier: Apache-2.0
#include "chat/reply_facts.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>

namespace hokku::desktop {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::ReplyDetails)
};

QString reasonText(const QString& name) {
    if (name == QLatin1String("end")) return Words::tr("ended by itself");
    if (name == QLatin1String("stop")) return Words::tr("ended by a stop text");
    if (name == QLatin1String("length")) return Words::tr("cut at the longest length");
    if (name == QLatin1String("context_full")) return Words::tr("cut, the context is full");
    if (name == QLatin1String("cancelled")) return Words::tr("stopped");
    return name;
}

const QLatin1String kTokens("tokens"), kPromptTokens("prompt_tokens"),
    kCachedTokens("cached_tokens"), kSpeed("tok_s"), kFirstToken("ttft_ms"), kReason("reason"),
    kModel("model"), kError("error"), kThoughtMs("thought_ms"), kDropped("dropped"),
    kSummary("summary"), kLead("lead"), kContext("context"), kGrownTo("grown_to");

quint32 tokenCount(const QJsonValue& value) {
    return static_cast<quint32>(qBound<qint64>(0, value.toInteger(), UINT32_MAX));
}

}  // namespace

void ReplyFacts::setEnd(const GenerationStats& stats, StopReason stopReason) {
    const std::string_view name = stop_reason_name(stopReason);
    reason = QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
    numTokens = stats.generated_tokens;
    numPromptTokens = stats.prompt_tokens;
    numCachedTokens = stats.cached_tokens;
    tokensPerSecond = stats.decode_tok_s;
    firstTokenMs = stats.ttft_ms;
}

bool ReplyFacts::isCut() const {
    return reason == QLatin1String("length") || reason == QLatin1String("context_full");
}

QString ReplyFacts::details() const {
    if (reason.isEmpty()) return {};
    const QLocale locale;
    QStringList parts{Words::tr("%Ln tokens", nullptr, static_cast<int>(numTokens))};
    if (tokensPerSecond > 0)
        parts.append(Words::tr("%1 tok/s").arg(locale.toString(tokensPerSecond, 'f', 1)));
    parts.append(
        Words::tr("first token after %1 s").arg(locale.toString(firstTokenMs / 1000, 'f', 2)));
    parts.append(reasonText(reason));
    if (!model.isEmpty()) parts.append(model);
    return parts.join(QStringLiteral(" · "));
}

QString ReplyFacts::toJson() const {
    QJsonObject object;
    const auto put = [&](QLatin1String key, const QJsonValue& value, bool isKnown) {
        if (isKnown) object.insert(key, value);
    };
    const bool hasEnded = !reason.isEmpty();
    put(kTokens, numTokens, hasEnded);
    put(kPromptTokens, numPromptTokens, hasEnded);
    put(kCachedTokens, numCachedTokens, hasEnded);
    put(kSpeed, tokensPerSecond, hasEnded);
    put(kFirstToken, firstTokenMs, hasEnded);
    put(kReason, reason, hasEnded);
    put(kModel, model, !model.isEmpty());
    put(kError, error, !error.isEmpty());
    put(kThoughtMs, thoughtMs, thoughtMs > 0);
    QJsonArray ids;
    for (const MessageId id : dropped) ids.append(id);
    put(kDropped, ids, !dropped.isEmpty());
    put(kSummary, summary, !summary.isEmpty());
    put(kLead, lead, !lead.isEmpty());
    put(kContext, static_cast<qint64>(context), context > 0);
    put(kGrownTo, static_cast<qint64>(grownTo), grownTo > 0);
    if (object.isEmpty()) return {};
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

ReplyFacts ReplyFacts::fromJson(const QString& json) {
    ReplyFacts facts;
    if (json.isEmpty()) return facts;
    const QJsonObject object = QJsonDocument::fromJson(json.toUtf8()).object();
    facts.numTokens = object[kTokens].toInteger();
    facts.numPromptTokens = object[kPromptTokens].toInteger();
    facts.numCachedTokens = object[kCachedTokens].toInteger();
    facts.tokensPerSecond = object[kSpeed].toDouble();
    facts.firstTokenMs = object[kFirstToken].toDouble();
    facts.reason = object[kReason].toString();
    facts.model = object[kModel].toString();
    facts.error = object[kError].toString();
    facts.thoughtMs = object[kThoughtMs].toInteger();
    const QJsonArray ids = object[kDropped].toArray();
    for (const QJsonValue& id : ids) facts.dropped.append(id.toInteger());
    facts.summary = object[kSummary].toString();
    facts.lead = object[kLead].toString();
    facts.context = tokenCount(object[kContext]);
    facts.grownTo = tokenCount(object[kGrownTo]);
    return facts;
}

}  // namespace hokku::desktop
