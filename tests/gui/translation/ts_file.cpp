// SPDX-License-Identifier: Apache-2.0
#include "gui/translation/ts_file.h"

#include <QFile>
#include <QXmlStreamReader>

namespace hokku::testing {
namespace {

TsMessage readMessage(QXmlStreamReader& xml, const QString& context) {
    TsMessage message;
    message.context = context;
    message.isPlural = xml.attributes().value(QLatin1String("numerus")) == QLatin1String("yes");
    while (xml.readNextStartElement()) {
        if (xml.name() == QLatin1String("source")) {
            message.source = xml.readElementText();
        } else if (xml.name() != QLatin1String("translation")) {
            xml.skipCurrentElement();
        } else {
            message.isFinished = !xml.attributes().hasAttribute(QLatin1String("type"));
            if (!message.isPlural) {
                message.forms.append(xml.readElementText());
                continue;
            }
            while (xml.readNextStartElement()) message.forms.append(xml.readElementText());
        }
    }
    return message;
}

}  // namespace

QVector<TsMessage> readTsFile(const QString& name) {
    QFile file(QStringLiteral(HOKKU_TRANSLATIONS) + QLatin1Char('/') + name);
    if (!file.open(QIODevice::ReadOnly)) return {};
    QVector<TsMessage> messages;
    QXmlStreamReader xml(&file);
    QString context;
    while (!xml.atEnd()) {
        if (xml.readNext() != QXmlStreamReader::StartElement) continue;
        if (xml.name() == QLatin1String("name")) context = xml.readElementText();
        if (xml.name() == QLatin1String("message")) messages.append(readMessage(xml, context));
    }
    return xml.hasError() ? QVector<TsMessage>() : messages;
}

}  // namespace hokku::testing
