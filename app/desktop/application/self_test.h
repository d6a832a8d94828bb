// SPDX-License-Identifier: Apache-2.0
// SelfTest: drives the real window as a person would, to show that an installation works: waits for
// the model, types, sees the reply stream, stops one, and ends the program with 0 or 1. Says how
// long the window and the model took.
#pragma once

#include <QObject>
#include <QString>

namespace hokku::desktop {

class MainWindow;

/// Threads: the UI thread. `window` must outlive it.
class SelfTest : public QObject {
    Q_OBJECT

  public:
    explicit SelfTest(MainWindow& window, QObject* parent = nullptr);
    void start();
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void sendFirst();
    void checkFirst();
    void sendAndStop();
    void checkStopped();
    void end(bool isGood, const QString& text);

    MainWindow& m_window;
    qint64 m_windowMs = -1;  ///< When the first message could be typed.
};

}  // namespace hokku::desktop
