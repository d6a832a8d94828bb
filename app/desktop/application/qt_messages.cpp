// SPDX-License-Identifier: Apache-2.0
#include "application/qt_messages.h"

#include <QString>
#include <QtGlobal>

namespace hokku::desktop {
namespace {

QtMessageHandler previousHandler = nullptr;

void handle(QtMsgType type, const QMessageLogContext& context, const QString& text) {
    if (text.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR not set"))) return;
    previousHandler(type, context, text);
}

}  // namespace

void dropQtNoise() {
    previousHandler = qInstallMessageHandler(handle);
}

}  // namespace hokku::desktop
