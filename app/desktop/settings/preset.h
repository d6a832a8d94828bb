// SPDX-License-Identifier: Apache-2.0
// Preset: a system prompt with sampling values, one JSON file each in the presets folder.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <QVector>

#include "hokku/result.h"
#include "hokku/sampling.h"

namespace hokku::desktop {

struct Preset {
    QString name;  ///< Also the file's name, made safe for every file system.
    QString systemPrompt;
    QString modelPath;  ///< Empty: any.
    SamplingOptions sampling;
    uint32_t maxTokens = 0;  ///< 0: until the context is full.
    bool isBuiltIn = false;
};

/// Errors : io, bad_format naming file, key, value and what is allowed.
Result<Preset> parsePreset(const QByteArray& json, const QString& where);
QByteArray presetToJson(const Preset& preset);

/// The presets of a folder with the built-in ones before them. Broken files are named in problems.
struct PresetList {
    QVector<Preset> presets;
    QStringList problems;
};
PresetList readPresets(const QString& folder);
Result<void> writePreset(const QString& folder, const Preset& preset);
Result<void> deletePreset(const QString& folder, const Preset& preset);

}  // namespace hokku::desktop
