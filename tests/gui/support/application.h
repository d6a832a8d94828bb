// SPDX-License-Identifier: Apache-2.0
// The QApplication of a test executable, without a display.
#pragma once

#include <QApplication>

namespace hokku::testing {

/// Made on the first call, on the thread that calls; lives until the process ends.
inline QApplication& application() {
    static QApplication* app = [] {
        if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
        static int argc = 1;
        static char name[] = "test";
        static char* argv[] = {name, nullptr};
        return new QApplication(argc, argv);
    }();
    return *app;
}

}  // namespace hokku::testing
