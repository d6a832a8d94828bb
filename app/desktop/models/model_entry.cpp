// SPDX-License-Identifier: Apache-2.0
#include "models/model_entry.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QRegularExpression>
#include <QSet>

#include "hokku/library.h"
#include "hokku/model_file.h"
#include "look/engine_text.h"

namespace hokku::desktop {
namespace {

constexpr int kMostFiles = 20'000, kMostModels = 1'000, kMostLevels = 6;

/// A metadata value as JSON.
QJsonValue valueOf(const ModelFileInfo& info, const QString& key) {
    const MetadataEntryInfo* entry = info.find(key.toStdString());
    if (entry == nullptr) return QJsonValue::Undefined;
    const QByteArray json = '[' + QByteArray::fromStdString(entry->value_json) + ']';
    return QJsonDocument::fromJson(json).array().first();
}

quint64 numberOf(const ModelFileInfo& info, const QString& key) {
    QJsonValue value = valueOf(info, key);
    if (value.isArray()) value = value.toArray().first();  // per layer: the first stands for all
    return static_cast<quint64>(qMax(0.0, value.toDouble()));
}

/// Keys and values of all layers, 32 bits each.
quint64 kvBytesPerToken(const ModelFileInfo& info, const QString& architecture) {
    const auto number = [&](const char* key) {
        return numberOf(info, architecture + QLatin1Char('.') + QLatin1String(key));
    };
    const quint64 heads = number("attention.head_count");
    quint64 kvHeads = number("attention.head_count_kv");
    if (kvHeads == 0) kvHeads = heads;
    quint64 keyLength = number("attention.key_length");
    if (keyLength == 0 && heads > 0) keyLength = number("embedding_length") / heads;
    quint64 valueLength = number("attention.value_length");
    if (valueLength == 0) valueLength = keyLength;
    return number("block_count") * kvHeads * (keyLength + valueLength) * sizeof(float);
}

/// By the recipe that the file names, as its makers call it; else the type of most of its bytes.
QString quantisationOf(const ModelFileInfo& info) {
    constexpr const char* kRecipes[] = {
        "F32",    "F16",    "Q4_0",  "Q4_1",    nullptr,  nullptr,  nullptr,  "Q8_0",
        "Q5_0",   "Q5_1",   "Q2_K",  "Q3_K_S",  "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M",
        "Q5_K_S", "Q5_K_M", "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS",
        "IQ1_S",  "IQ4_NL", "IQ3_S", "IQ3_M",   "IQ2_S",  "IQ2_M",  "IQ4_XS", "IQ1_M",
        "BF16",   nullptr,  nullptr, nullptr,   "TQ1_0",  "TQ2_0",  "MXFP4"};
    const QJsonValue recipe = valueOf(info, QStringLiteral("general.file_type"));
    const int number = recipe.toInt(-1);
    if (number >= 0 && number < static_cast<int>(std::size(kRecipes)) &&
        kRecipes[number] != nullptr)
        return QString::fromLatin1(kRecipes[number]);
    return info.type_totals.empty() ? QString()
                                    : QString::fromStdString(info.type_totals.front().type);
}

/// "-00001-of-00003.gguf": a part of a split set.
QRegularExpressionMatch matchPart(const QString& fileName) {
    static const QRegularExpression part(QStringLiteral("-(\\d{5})-of-(\\d{5})(\\.gguf)$"),
                                         QRegularExpression::CaseInsensitiveOption);
    return part.match(fileName);
}

/// Of a split set only the first part stands for it.
bool isLaterPart(const QString& fileName) {
    const QRegularExpressionMatch match = matchPart(fileName);
    return match.hasMatch() && match.captured(1) != QLatin1String("00001");
}

bool isGguf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) && file.read(4) == QByteArray("GGUF");
}

}  // namespace

QVector<ModelFolder> foldersOfOtherPrograms(const QString& home) {
    const QPair<const char*, const char*> known[] = {
        {"LM Studio", ".lmstudio/models"},
        {"LM Studio", ".cache/lm-studio/models"},
        {"GPT4All", ".local/share/nomic.ai/GPT4All"},
        {"GPT4All", "AppData/Local/nomic.ai/GPT4All"},
        {"Jan", "jan/models"},
        {"Jan", ".local/share/Jan/data/models"},
        {"Jan", ".local/share/Jan/data/llamacpp/models"},
        {"Jan", "AppData/Roaming/Jan/data/llamacpp/models"},
        {"Ollama", ".ollama/models/blobs"},
        {"Hugging Face", ".cache/huggingface/hub"},
        {"llama.cpp", ".cache/llama.cpp"},
    };
    QVector<ModelFolder> folders;
    for (const auto& [source, path] : known) {
        const QString folder = home + QLatin1Char('/') + QLatin1String(path);
        if (QFileInfo(folder).isDir()) folders.append({QString::fromLatin1(source), folder, false});
    }
    return folders;
}

QStringList findModels(const ModelFolder& folder) {
    QStringList found;
    QSet<QString> seen;  // Hugging Face links several names to one file
    const qsizetype levelsAbove = folder.path.count(QLatin1Char('/'));
    QDirIterator files(folder.path, QDir::Files | QDir::NoDotAndDotDot,
                       QDirIterator::Subdirectories);
    for (int count = 0; files.hasNext() && count < kMostFiles && found.size() < kMostModels;
         ++count) {
        const QString path = files.next();
        if (path.count(QLatin1Char('/')) - levelsAbove > kMostLevels) continue;
        const QString name = files.fileName();
        const bool isNamed = name.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive);
        const bool isBlob = name.startsWith(QLatin1String("sha256-"));
        if (!(isNamed && !isLaterPart(name)) && !(isBlob && isGguf(path))) continue;
        const QString real = QFileInfo(path).canonicalFilePath();
        if (real.isEmpty() || seen.contains(real)) continue;
        seen.insert(real);
        found.append(path);
    }
    found.sort();
    return found;
}

QStringList partsOf(const QString& path) {
    const QRegularExpressionMatch match = matchPart(path);
    if (!match.hasMatch()) return {path};
    QStringList parts;
    const int count = match.captured(2).toInt();
    for (int i = 1; i <= count; ++i)
        parts.append(path.left(match.capturedStart()) +
                     QStringLiteral("-%1-of-%2%3")
                         .arg(i, 5, 10, QLatin1Char('0'))
                         .arg(match.captured(2), match.captured(3)));
    return parts;
}

ModelEntry describeModel(const QString& path, const QString& source) {
    ModelEntry entry;
    entry.path = path;
    entry.source = source;
    entry.name = QFileInfo(path).completeBaseName();
    entry.fileBytes = static_cast<quint64>(qMax<qint64>(0, QFileInfo(path).size()));
    const auto info = inspect_model_file(std::filesystem::path(path.toStdU16String()),
                                         {.max_array_elements = 1, .max_string_bytes = 1024});
    if (!info.ok()) {
        entry.problem = errorText(info.error());
        return entry;
    }
    // What a file calls itself inside is often the name of a training run; but the files of Ollama
    // have no other.
    const QString name = valueOf(*info, QStringLiteral("general.name")).toString();
    const bool isNamed = path.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive);
    if (!isNamed && !name.isEmpty()) entry.name = name;
    entry.architecture = valueOf(*info, QStringLiteral("general.architecture")).toString();
    entry.license = valueOf(*info, QStringLiteral("general.license")).toString();
    entry.fileBytes = info->file_bytes;
    entry.numParameters = info->num_parameters;
    entry.quantisation = quantisationOf(*info);
    entry.trainedContext = numberOf(*info, entry.architecture + QStringLiteral(".context_length"));
    entry.kvBytesPerToken = kvBytesPerToken(*info, entry.architecture);
    if (const auto usable = check_model(info->path); !usable.ok())
        entry.problem = errorText(usable.error());
    return entry;
}

}  // namespace hokku::desktop
