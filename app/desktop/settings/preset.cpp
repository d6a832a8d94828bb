// SPDX-License-Identifier: Apache-2.0
#include "settings/preset.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <algorithm>

#include "look/engine_text.h"
#include "settings/sampling_fields.h"

namespace hokku::desktop {
namespace {

constexpr int kMostTokens = 1'000'000;
constexpr qsizetype kMostBreakers = 100, kMostBreakerBytes = 40, kMostBiases = 1000;
const QString kOrder = QStringLiteral("order"), kBreakers = QStringLiteral("dry_breakers"),
              kBias = QStringLiteral("logit_bias"), kMaxTokens = QStringLiteral("max_tokens"),
              kThoughtBudget = QStringLiteral("thought_budget");

struct BuiltIn {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::Presets)
};

QVector<Preset> builtInPresets() {
    Preset standard;
    standard.key = QStringLiteral(":standard");
    standard.name = BuiltIn::tr("Standard");
    Preset precise;
    precise.key = QStringLiteral(":precise");
    precise.name = BuiltIn::tr("Precise");
    precise.sampling.temperature = 0.2f;
    Preset verse;
    verse.key = QStringLiteral(":verse");
    verse.name = BuiltIn::tr("Verse");
    verse.systemPrompt = BuiltIn::tr(
        "You are a poet of short forms. Answer with the poem alone, in as few words as it needs.");
    verse.sampling.temperature = 0.9f;
    return {standard, precise, verse};
}

Error bad(const QString& where, const QString& key, const QString& expected) {
    return Error{ErrorCode::bad_format,
                 QStringLiteral("\"%1\" is not usable").arg(key).toStdString(), where.toStdString(),
                 expected.toStdString()};
}

/// A count of tokens, nothing where there is none. Errors: another value.
Result<std::optional<uint32_t>> readTokens(const QJsonObject& object, const QString& key,
                                           const QString& where) {
    const QJsonValue value = object[key];
    if (value.isUndefined() || value.isNull()) return std::optional<uint32_t>();
    const double tokens = value.toDouble(-1);
    if (!(tokens >= 0 && tokens <= kMostTokens))
        return bad(where, key, QStringLiteral("0 to %1").arg(kMostTokens));
    return std::optional(static_cast<uint32_t>(tokens));
}

/// {"1234": -5}: token ids and what is added to their scores.
Result<void> readBias(const QJsonValue& value, const QString& where, SamplingOptions& sampling) {
    if (value.isUndefined() || value.isNull()) return {};
    const QJsonObject tokens = value.toObject();
    if (!value.isObject() || tokens.size() > kMostBiases)
        return bad(where, kBias, QStringLiteral("an object of at most %1").arg(kMostBiases));
    for (auto entry = tokens.begin(); entry != tokens.end(); ++entry) {
        bool isToken = false;
        const int token = entry.key().toInt(&isToken);
        const double bias = entry->toDouble(2 * kMostBias);
        if (!isToken || token < 0 || !(bias >= -kMostBias && bias <= kMostBias))
            return bad(where, kBias,
                       QStringLiteral("token ids with %1 to %2").arg(-kMostBias).arg(kMostBias));
        sampling.logit_bias.emplace_back(token, static_cast<float>(bias));
    }
    return {};
}

/// The lists of the sampling values: where they are absent, nothing changes.
Result<void> readLists(const QJsonObject& object, const QString& where, SamplingOptions& sampling) {
    for (const QString& key : {kOrder, kBreakers}) {
        const QJsonValue value = object[key];
        if (!value.isUndefined() && !value.isNull() && !value.isArray())
            return bad(where, key, QStringLiteral("a list"));
    }
    if (object[kOrder].isArray()) {
        sampling.order.clear();
        const QJsonArray steps = object[kOrder].toArray();
        for (const QJsonValue& value : steps) {
            const auto step = findStep(value.toString());
            const bool isNew = step && std::find(sampling.order.begin(), sampling.order.end(),
                                                 *step) == sampling.order.end();
            if (!isNew) return bad(where, kOrder, QStringLiteral("names of steps, each once"));
            sampling.order.push_back(*step);
        }
    }
    if (object[kBreakers].isArray()) {
        sampling.dry_breakers.clear();
        const QJsonArray texts = object[kBreakers].toArray();
        for (const QJsonValue& value : texts) {
            const QByteArray text = value.toString().toUtf8();
            if (text.isEmpty() || text.size() > kMostBreakerBytes || texts.size() > kMostBreakers)
                return bad(where, kBreakers,
                           QStringLiteral("at most %1 texts of 1 to %2 bytes")
                               .arg(kMostBreakers)
                               .arg(kMostBreakerBytes));
            sampling.dry_breakers.push_back(text.toStdString());
        }
    }
    return readBias(object[kBias], where, sampling);
}

/// The preset's file: its name, with what file systems refuse written as %XX.
QString fileOf(const QString& folder, const QString& name) {
    const QByteArray safe =
        name.toUtf8().toPercentEncoding(QByteArrayLiteral(" "), QByteArrayLiteral("."));
    return QStringLiteral("%1/%2.json").arg(folder, QString::fromLatin1(safe));
}

}  // namespace

Result<Preset> parsePreset(const QByteArray& json, const QString& where) {
    if (json.size() > kMostPresetBytes)
        return Error{ErrorCode::bad_format, "the preset is too large", where.toStdString(),
                     "at most " + std::to_string(kMostPresetBytes) + " bytes"};
    QJsonParseError problem{};
    const QJsonDocument document = QJsonDocument::fromJson(json, &problem);
    if (!document.isObject())
        return Error{ErrorCode::bad_format,
                     "the preset is not a JSON object: " + problem.errorString().toStdString(),
                     where.toStdString(), "an object with \"name\""};
    const QJsonObject object = document.object();
    Preset preset;
    preset.name = object[QStringLiteral("name")].toString().trimmed();
    if (preset.name.isEmpty() || preset.name.startsWith(QLatin1Char(':')))
        return bad(where, QStringLiteral("name"),
                   QStringLiteral("a text that does not begin with a colon"));
    for (const char* key : {"system_prompt", "model"}) {
        const QJsonValue value = object[QLatin1String(key)];
        if (!value.isUndefined() && !value.isNull() && !value.isString())
            return bad(where, QLatin1String(key), QStringLiteral("a text"));
    }
    preset.systemPrompt = object[QStringLiteral("system_prompt")].toString();
    preset.modelPath = object[QStringLiteral("model")].toString();
    const auto most = readTokens(object, kMaxTokens, where);
    if (!most.ok()) return most.error();
    preset.maxTokens = most->value_or(0);
    const auto budget = readTokens(object, kThoughtBudget, where);
    if (!budget.ok()) return budget.error();
    preset.thoughtBudget = *budget;
    for (const SamplingField& field : samplingFields()) {
        const QString key = QLatin1String(field.key);
        const QJsonValue value = object[key];
        if (value.isUndefined()) continue;
        const double number = value.toDouble();
        if (!value.isDouble() || !(number >= field.least && number <= field.most))
            return bad(where, key, QStringLiteral("%1 to %2").arg(field.least).arg(field.most));
        field.set(preset.sampling, number);
    }
    const Result<void> lists = readLists(object, where, preset.sampling);
    if (!lists.ok()) return lists.error();
    preset.key = preset.name;
    return preset;
}

QByteArray presetToJson(const Preset& preset) {
    QJsonObject object{{QStringLiteral("name"), preset.name},
                       {QStringLiteral("system_prompt"), preset.systemPrompt},
                       {QStringLiteral("model"), preset.modelPath},
                       {kMaxTokens, static_cast<qint64>(preset.maxTokens)}};
    if (preset.thoughtBudget)
        object.insert(kThoughtBudget, static_cast<qint64>(*preset.thoughtBudget));
    for (const SamplingField& field : samplingFields()) {
        // As few digits as the field shows, so that 0.8f is not written as 0.800000011920929.
        const QString digits = QString::number(field.get(preset.sampling), 'f', field.decimals);
        object.insert(QLatin1String(field.key), digits.toDouble());
    }
    QJsonArray order, breakers;
    for (const SamplerStep step : preset.sampling.order) order.append(stepKey(step));
    for (const std::string& text : preset.sampling.dry_breakers)
        breakers.append(QString::fromStdString(text));
    object.insert(kOrder, order);
    object.insert(kBreakers, breakers);
    QJsonObject bias;
    for (const auto& [token, value] : preset.sampling.logit_bias)
        bias.insert(QString::number(token), QString::number(static_cast<double>(value)).toDouble());
    if (!bias.isEmpty()) object.insert(kBias, bias);
    return QJsonDocument(object).toJson();
}

PresetList readPresets(const QString& folder) {
    PresetList list;
    list.presets = builtInPresets();
    for (const QFileInfo& info :
         QDir(folder).entryInfoList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        QFile file(info.filePath());
        if (!file.open(QIODevice::ReadOnly)) {
            list.problems.append([text = info.fileName() + QStringLiteral(": ") +
                                         file.errorString()] { return text; });
            continue;
        }
        const Result<Preset> preset = parsePreset(file.read(kMostPresetBytes + 1), info.fileName());
        if (preset.ok()) {
            list.presets.append(*preset);
        } else {
            list.problems.append([error = preset.error()] { return errorText(error); });
        }
    }
    return list;
}

Result<void> writePreset(const QString& folder, const Preset& preset) {
    const QString path = fileOf(folder, preset.name);
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(presetToJson(preset)) >= 0 && file.commit())
        return {};
    return Error{ErrorCode::io, "the preset cannot be written: " + file.errorString().toStdString(),
                 path.toStdString(), ""};
}

Result<void> deletePreset(const QString& folder, const Preset& preset) {
    QFile file(fileOf(folder, preset.name));
    if (file.remove()) return {};
    return Error{ErrorCode::io, "the preset cannot be deleted: " + file.errorString().toStdString(),
                 file.fileName().toStdString(), ""};
}

}  // namespace hokku::desktop
