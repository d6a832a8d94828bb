// SPDX-License-Identifier: Apache-2.0
#include "look/size_text.h"

#include <QLocale>

namespace hokku::desktop {

QString sizeText(quint64 bytes) {
    // Not the "traditional" format, which counts MiB and calls them MB.
    return QLocale()
        .formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat)
        .replace(QLatin1Char(' '), QChar::Nbsp);
}

}  // namespace hokku::desktop
