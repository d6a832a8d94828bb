// SPDX-License-Identifier: Apache-2.0
// Lets a failed check print what Qt's texts hold.
#pragma once

#include <QString>
#include <QStringList>

#include "support/catch.h"

namespace Catch {

template <>
struct StringMaker<QString> {
    static std::string convert(const QString& text) { return '"' + text.toStdString() + '"'; }
};

template <>
struct StringMaker<QStringList> {
    static std::string convert(const QStringList& list) {
        return '"' + list.join(QStringLiteral("\", \"")).toStdString() + '"';
    }
};

}  // namespace Catch
