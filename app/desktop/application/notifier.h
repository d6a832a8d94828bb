// SPDX-License-Identifier: Apache-2.0
// Notifier: tells a person who is elsewhere: by a notification of the desktop where there is such
// a service, else by the icon in the tray, else by an alert of the window. Never over a network.
#pragma once

#include <QObject>
#include <QString>
#include <memory>

class QSystemTrayIcon;
class QWidget;

namespace hokku::desktop {

/// Threads: the UI thread; nothing here waits for the service.
class Notifier : public QObject {
    Q_OBJECT

  public:
    explicit Notifier(QWidget& window, QObject* parent = nullptr);
    ~Notifier() override;

    /// Used where the desktop has no notifications; null: there is none.
    void setTrayIcon(QSystemTrayIcon* icon);
    /// One at a time: a later one takes the place of an earlier.
    void tell(const QString& title, const QString& text);
    void withdraw();

  signals:
    void activated();  ///< The person has chosen the notification.

  private slots:
    void takeAction(uint id, const QString& action);
    void takeClosed(uint id, uint reason);

  private:
    void tellWithoutService(const QString& title, const QString& text);
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
