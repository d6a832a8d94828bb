// SPDX-License-Identifier: Apache-2.0
// Preset: a system prompt with sampling values, one JSON file each in the presets folder.
#pragma once

#include <QByteArray>
#include <QString>
#include <QVector>
#include <optional>

#include "hokku/result.h"
#include "hokku/sampling.h"
#include "look/notice_words.h"

namespace hokku::desktop {

struct Preset {
    /// By which chats remember it, in whatever language: ":precise" of a built-in one, the name of
    /// the others.
    QString key;
    QString name;  ///< Also the file's name, made safe for every file system.
    QString systemPrompt;
    QString modelPath;  ///< Empty: any.
    SamplingOptions sampling;
    uint32_t maxTokens = 0;                 ///< 0: until the context is full.
    std::optional<uint32_t> thoughtBudget;  ///< Tokens of thoughts; absent: no limit.
    [[nodiscard]] bool isBuiltIn() const { return key.startsWith(QLatin1Char(':')); }
};

inline constexpr qint64 kMostPresetBytes = 1 << 20;

/// Errors : io, bad_format naming file, key, value and what is allowed.
Result<Preset> parsePreset(const QByteArray& json, const QString& where);
QByteArray presetToJson(const Preset& preset);

/// The presets of a folder with the built-in ones before them. Broken files are named in problems.
struct PresetList {
    QVector<Preset> presets;
    QVector<NoticeWords> problems;
};
PresetList readPresets(const QString& folder);
Result<void> writePreset(const QString& folder, const Preset& preset);
Result<void> deletePreset(const QString& folder, const Preset& preset);

}  // namespace hokku::desktop
