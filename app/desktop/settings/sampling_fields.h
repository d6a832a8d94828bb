// SPDX-License-Identifier: Apache-2.0
// The sampling values that a person can set: their names in files, their words on the screen and
// what is allowed. Presets and their editor both read this table.
#pragma once

#include <QString>
#include <QVector>
#include <optional>

#include "hokku/sampling.h"

namespace hokku::desktop {

/// Where a value stands in the editor: `basic` is always seen, the others are unfolded.
enum class SamplingGroup { basic, choice, repetition, variety, mirostat, draw };

struct SamplingField {
    const char* key;  ///< In JSON.
    SamplingGroup group;
    QString name, help;
    QString leastName;  ///< What the least value means ("off"); empty: nothing but itself.
    double least, most, step;
    int decimals;
    double (*get)(const SamplingOptions& options);
    void (*set)(SamplingOptions& options, double value);
};

/// In the language that is chosen at the call.
QVector<SamplingField> samplingFields();
QString samplingGroupName(SamplingGroup group);

/// "top_k": the names of the steps in files, and those on the screen.
QString stepKey(SamplerStep step);
std::optional<SamplerStep> findStep(const QString& key);
QString stepName(SamplerStep step);

/// Texts that end a repetition, on one line: separated by spaces, with \n, \t, \s and \\ within.
QString breakersToText(const std::vector<std::string>& breakers);
std::vector<std::string> breakersFromText(const QString& text);

inline constexpr double kMostBias = 100;
/// What is added to the scores of single tokens, on one line: "1234=-5 77=2.5". What is no such
/// pair is left out; values beyond kMostBias are brought back to it.
QString biasToText(const std::vector<std::pair<int32_t, float>>& bias);
std::vector<std::pair<int32_t, float>> biasFromText(const QString& text);

}  // namespace hokku::desktop
