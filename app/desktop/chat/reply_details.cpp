// SPDX-License-Identifier: Apache-2.0
#include "chat/reply_details.h"

#include <QCoreApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <QStringList>

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

}  // namespace

QString replyStatsJson(const GenerationStats& stats, StopReason reason) {
    const std::string_view name = stop_reason_name(reason);
    const QJsonObject object{
        {QStringLiteral("tokens"), static_cast<qint64>(stats.generated_tokens)},
        {QStringLiteral("prompt_tokens"), static_cast<qint64>(stats.prompt_tokens)},
        {QStringLiteral("cached_tokens"), static_cast<qint64>(stats.cached_tokens)},
        {QStringLiteral("tok_s"), stats.decode_tok_s},
        {QStringLiteral("ttft_ms"), stats.ttft_ms},
        {QStringLiteral("reason"),
         QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()))},
    };
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

QString replyDetails(const QString& statsJson) {
    const QJsonObject stats = QJsonDocument::fromJson(statsJson.toUtf8()).object();
    if (stats.isEmpty()) return {};
    const QLocale locale;
    const qint64 tokens = stats[QStringLiteral("tokens")].toInteger();
    const double speed = stats[QStringLiteral("tok_s")].toDouble();
    QStringList parts{Words::tr("%n tokens", nullptr, static_cast<int>(tokens))};
    if (speed > 0) parts.append(Words::tr("%1 tok/s").arg(locale.toString(speed, 'f', 1)));
    parts.append(
        Words::tr("first token after %1 s")
            .arg(locale.toString(stats[QStringLiteral("ttft_ms")].toDouble() / 1000, 'f', 2)));
    parts.append(reasonText(stats[QStringLiteral("reason")].toString()));
    return parts.join(QStringLiteral(" · "));
}

bool wasCut(const QString& statsJson) {
    const QString reason =
        QJsonDocument::fromJson(statsJson.toUtf8()).object()[QStringLiteral("reason")].toString();
    return reason == QLatin1String("length") || reason == QLatin1String("context_full");
}

}  // namespace hokku::desktop
