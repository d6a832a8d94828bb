// SPDX-License-Identifier: Apache-2.0
// The sampling values that a person can set: their names in files, their words on the screen and
// what is allowed. Presets and the settings page both read this table.
#pragma once

#include <QString>
#include <QVector>

#include "hokku/sampling.h"

namespace hokku::desktop {

struct SamplingField {
    const char* key;  ///< In JSON.
    QString name, help;
    double least, most, step;
    int decimals;
    double (*get)(const SamplingOptions& options);
    void (*set)(SamplingOptions& options, double value);
};

/// In the language that is chosen at the call.
QVector<SamplingField> samplingFields();

}  // namespace hokku::desktop
