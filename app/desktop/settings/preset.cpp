// SPDX-License-Identifier: Apache-2.0
#include "settings/preset.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

#include "look/engine_text.h"
#include "settings/sampling_fields.h"

namespace hokku::desktop {
namespace {

constexpr qint64 kMostBytes = 1 << 20;
constexpr int kMostTokens = 1'000'000;

struct BuiltIn {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::Presets)
};

QVector<Preset> builtInPresets() {
    Preset standard;
    standard.name = BuiltIn::tr("Standard");
    standard.isBuiltIn = true;
    Preset precise = standard;
    precise.name = BuiltIn::tr("Precise");
    precise.sampling.temperature = 0.2f;
    Preset verse = standard;
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

/// The preset's file: its name, with what file systems refuse written as %XX.
QString fileOf(const QString& folder, const QString& name) {
    const QByteArray safe =
        name.toUtf8().toPercentEncoding(QByteArrayLiteral(" "), QByteArrayLiteral("."));
    return QStringLiteral("%1/%2.json").arg(folder, QString::fromLatin1(safe));
}

}  // namespace

Result<Preset> parsePreset(const QByteArray& json, const QString& where) {
    QJsonParseError problem{};
    const QJsonDocument document = QJsonDocument::fromJson(json, &problem);
    if (!document.isObject())
        return Error{ErrorCode::bad_format,
                     "the preset is not a JSON object: " + problem.errorString().toStdString(),
                     where.toStdString(), "an object with \"name\""};
    const QJsonObject object = document.object();
    Preset preset;
    preset.name = object[QStringLiteral("name")].toString().trimmed();
    if (preset.name.isEmpty()) return bad(where, QStringLiteral("name"), QStringLiteral("a text"));
    preset.systemPrompt = object[QStringLiteral("system_prompt")].toString();
    preset.modelPath = object[QStringLiteral("model")].toString();
    const QJsonValue most = object[QStringLiteral("max_tokens")];
    const double mostTokens = most.toDouble();
    if (!most.isUndefined() && !(most.isDouble() && mostTokens >= 0 && mostTokens <= kMostTokens))
        return bad(where, QStringLiteral("max_tokens"), QStringLiteral("0 to %1").arg(kMostTokens));
    preset.maxTokens = static_cast<uint32_t>(mostTokens);
    for (const SamplingField& field : samplingFields()) {
        const QString key = QLatin1String(field.key);
        const QJsonValue value = object[key];
        if (value.isUndefined()) continue;
        const double number = value.toDouble();
        if (!value.isDouble() || !(number >= field.least && number <= field.most))
            return bad(where, key, QStringLiteral("%1 to %2").arg(field.least).arg(field.most));
        field.set(preset.sampling, number);
    }
    return preset;
}

QByteArray presetToJson(const Preset& preset) {
    QJsonObject object{{QStringLiteral("name"), preset.name},
                       {QStringLiteral("system_prompt"), preset.systemPrompt},
                       {QStringLiteral("model"), preset.modelPath},
                       {QStringLiteral("max_tokens"), static_cast<qint64>(preset.maxTokens)}};
    for (const SamplingField& field : samplingFields()) {
        // As few digits as the field shows, so that 0.8f is not written as 0.800000011920929.
        const QString digits = QString::number(field.get(preset.sampling), 'f', field.decimals);
        object.insert(QLatin1String(field.key), digits.toDouble());
    }
    return QJsonDocument(object).toJson();
}

PresetList readPresets(const QString& folder) {
    PresetList list;
    list.presets = builtInPresets();
    for (const QFileInfo& info :
         QDir(folder).entryInfoList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        QFile file(info.filePath());
        if (info.size() > kMostBytes || !file.open(QIODevice::ReadOnly)) {
            list.problems.append(info.fileName() + QStringLiteral(": ") + file.errorString());
            continue;
        }
        const Result<Preset> preset = parsePreset(file.readAll(), info.fileName());
        if (preset.ok()) {
            list.presets.append(*preset);
        } else {
            list.problems.append(errorText(preset.error()));
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
