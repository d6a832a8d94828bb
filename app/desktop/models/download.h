// SPDX-License-Identifier: Apache-2.0
// Download: one file from the network, only ever started by a person. What is not whole and right
// keeps the ending .part and is never taken for a model.
#pragma once

#include <QElapsedTimer>
#include <QFile>
#include <QNetworkAccessManager>
#include <QObject>
#include <QPointer>
#include <QThread>
#include <QUrl>
#include <memory>

class QNetworkReply;

namespace hokku::desktop {

struct DownloadRequest {
    QUrl url;           ///< http or https.
    QString target;     ///< Of the finished file; TARGET.part until then.
    qint64 bytes = -1;  ///< Expected; -1: not known.
    QByteArray sha256;  ///< Expected, 64 hexadecimal digits; empty: not known.
};

/// Goes on where TARGET.part ends when the server can and still has the same file, which is told by
/// TARGET.part.from: its address and the server's mark of its version. The whole file is hashed
/// and synced to the disk before it gets its name. Without a known size or hash nobody could tell
/// whether it is whole; such files are refused.
///
/// Threads: the UI thread; a thread of its own for the hash.
class Download : public QObject {
    Q_OBJECT

  public:
    explicit Download(const DownloadRequest& request, QObject* parent = nullptr);
    ~Download() override;

    [[nodiscard]] const DownloadRequest& request() const { return m_request; }
    /// Receiving or checking.
    [[nodiscard]] bool isRunning() const { return !m_reply.isNull() || isChecking(); }
    /// All has come; its hash is being computed.
    [[nodiscard]] bool isChecking() const { return m_hashing != nullptr; }
    [[nodiscard]] qint64 received() const { return m_received; }
    [[nodiscard]] qint64 total() const { return m_total; }
    [[nodiscard]] double bytesPerSecond() const;

  public slots:
    void start();
    void pause();   ///< Keeps what has come. While it is checked there is nothing to pause.
    void cancel();  ///< Removes it.

  signals:
    void progressed(qint64 received, qint64 total);
    void checking();
    void paused();
    void finished(const QString& path);
    void failed(const QString& reason);

  private:
    void readHeaders();
    void beginAnew();
    void readData();
    void end();
    void complete();
    void takeIntoUse(bool isRight);
    void endReply();
    void endChecking();
    void fail(const QString& reason, bool removesPart = false);
    void failToWrite();
    void removePart();
    [[nodiscard]] QString part() const { return m_request.target + QStringLiteral(".part"); }
    [[nodiscard]] QString origin() const { return part() + QStringLiteral(".from"); }
    [[nodiscard]] bool hasRoom(qint64 bytes) const;

    DownloadRequest m_request;
    QNetworkAccessManager m_network;
    QPointer<QNetworkReply> m_reply;
    QFile m_file;
    qint64 m_received = 0, m_total = -1, m_atStart = 0;
    bool m_hasHeaders = false;
    QByteArray m_version;  ///< The server's mark of the file that the part is of; may be empty.
    QElapsedTimer m_clock;
    std::unique_ptr<QThread> m_hashing;
};

}  // namespace hokku::desktop
