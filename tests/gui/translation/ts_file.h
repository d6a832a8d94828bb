// SPDX-License-Identifier: Apache-2.0
// Reads the messages of a Qt Linguist file (.ts).
#pragma once

#include <QString>
#include <QStringList>
#include <QVector>

namespace hokku::testing {

struct TsMessage {
    QString context, source;
    QStringList forms;  ///< One, or one for each plural form.
    bool isPlural = false, isFinished = true;
};

/// Of the folder resources/desktop/translations; empty if it cannot be read.
QVector<TsMessage> readTsFile(const QString& name);

}  // namespace hokku::testing
