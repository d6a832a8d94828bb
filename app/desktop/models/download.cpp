// SPDX-License-Identifier: Apache-2.0
#include "models/download.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include <QNetworkReply>
#include <QRegularExpression>
#include <QStorageInfo>
#include <QThread>

#ifdef Q_OS_UNIX
#include <unistd.h>
#endif

namespace hokku::desktop {
namespace {

constexpr int kTimeoutMs = 30'000;
constexpr qint64 kPieceBytes = 1 << 20;
/// Kept free on the disk besides the file.
constexpr qint64 kReserveBytes = 64 << 20;
constexpr int kPartialContent = 206, kOk = 200, kRangeNotSatisfiable = 416;

/// First byte and whole size of "bytes 10-99/100"; -1 where it says nothing of use.
struct ContentRange {
    qint64 first = -1, total = -1;
};
ContentRange parseContentRange(const QByteArray& header) {
    static const QRegularExpression form(QStringLiteral("^bytes (\\d+)-\\d+/(\\d+|\\*)$"));
    const QRegularExpressionMatch match = form.match(QString::fromLatin1(header));
    if (!match.hasMatch()) return {};
    bool hasTotal = false;
    const qint64 total = match.captured(2).toLongLong(&hasTotal);
    return {match.captured(1).toLongLong(), hasTotal ? total : -1};
}

bool syncToDisk(QFile& file) {
    if (!file.flush()) return false;
#ifdef Q_OS_UNIX
    return fsync(file.handle()) == 0;
#else
    return true;
#endif
}

}  // namespace

Download::Download(const DownloadRequest& request, QObject* parent)
    : QObject(parent), m_request(request), m_total(request.bytes) {}

Download::~Download() {
    if (m_reply) {
        m_reply->disconnect(this);
        m_reply->abort();
    }
    if (m_hashing) m_hashing->wait();
}

double Download::bytesPerSecond() const {
    const qint64 elapsed = m_clock.isValid() ? m_clock.elapsed() : 0;
    return elapsed > 0
               ? 1000.0 * static_cast<double>(m_received - m_atStart) / static_cast<double>(elapsed)
               : 0.0;
}

bool Download::hasRoom(qint64 bytes) const {
    const QStorageInfo storage(QFileInfo(m_request.target).absolutePath());
    return !storage.isValid() || storage.bytesAvailable() >= bytes + kReserveBytes;
}

void Download::start() {
    if (isRunning()) return;
    if (m_request.url.scheme() != QLatin1String("https") &&
        m_request.url.scheme() != QLatin1String("http"))
        return fail(tr("Only addresses with http or https can be downloaded."));
    if (m_request.bytes >= 0 && !hasRoom(m_request.bytes - QFileInfo(part()).size()))
        return fail(tr("There is not enough room on the disk."));
    m_file.setFileName(part());
    if (!m_file.open(QIODevice::ReadWrite))
        return fail(tr("%1 cannot be written: %2").arg(part(), m_file.errorString()));
    m_received = m_atStart = m_file.size();
    m_file.seek(m_received);
    m_hasHeaders = false;

    QNetworkRequest request(m_request.url);
    request.setTransferTimeout(kTimeoutMs);
    request.setAttribute(QNetworkRequest::RedirectPolicyAttribute,
                         QNetworkRequest::NoLessSafeRedirectPolicy);
    request.setRawHeader("Accept-Encoding", "identity");
    if (m_received > 0)
        request.setRawHeader("Range", "bytes=" + QByteArray::number(m_received) + "-");
    m_clock.start();
    m_reply = m_network.get(request);
    m_reply->setReadBufferSize(4 * kPieceBytes);
    connect(m_reply, &QNetworkReply::readyRead, this, &Download::readData);
    connect(m_reply, &QNetworkReply::finished, this, &Download::end);
}

void Download::pause() {
    if (!isRunning()) return;
    m_reply->disconnect(this);
    m_reply->abort();
    m_reply->deleteLater();
    m_reply.clear();
    m_file.close();
    emit paused();
}

void Download::cancel() {
    if (isRunning()) pause();
    QFile::remove(part());
    m_received = 0;
}

/// What the server sends may begin elsewhere than was asked for, or be something else.
void Download::readHeaders() {
    m_hasHeaders = true;
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (status == kPartialContent) {
        const ContentRange range = parseContentRange(m_reply->rawHeader("Content-Range"));
        if (range.first != m_received)
            return fail(tr("The server sent another part of the file than was asked for."), true);
        if (range.total >= 0) m_total = range.total;
    } else if (status == kOk) {
        // The server does not know ranges: from the start.
        m_received = m_atStart = 0;
        m_file.resize(0);
        m_file.seek(0);
        const QVariant length = m_reply->header(QNetworkRequest::ContentLengthHeader);
        if (length.isValid()) m_total = length.toLongLong();
    } else {
        return;  // end() says what is wrong
    }
    if (m_request.bytes >= 0 && m_total >= 0 && m_total != m_request.bytes)
        return fail(tr("The server's file has %1 bytes, expected were %2.")
                        .arg(m_total)
                        .arg(m_request.bytes),
                    true);
    if (m_total >= 0 && !hasRoom(m_total - m_received))
        return fail(tr("There is not enough room on the disk."));
}

void Download::readData() {
    if (!m_hasHeaders) readHeaders();
    if (!m_reply) return;
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (status != kOk && status != kPartialContent) return;
    while (m_reply && m_reply->bytesAvailable() > 0) {
        const QByteArray piece = m_reply->read(kPieceBytes);
        if (m_file.write(piece) != piece.size())
            return fail(tr("%1 cannot be written: %2").arg(part(), m_file.errorString()));
        m_received += piece.size();
        if (m_total >= 0 && m_received > m_total)
            return fail(tr("The server sent more than the file's size."), true);
    }
    emit progressed(m_received, m_total);
}

void Download::end() {
    if (!m_reply) return;
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    const QNetworkReply::NetworkError error = m_reply->error();
    if (error == QNetworkReply::NoError || status == kPartialContent) readData();
    if (!m_reply) return;
    const QString reason = m_reply->errorString();
    m_reply->deleteLater();
    m_reply.clear();
    const bool isWhole = m_total >= 0 && m_received == m_total;
    if (status == kRangeNotSatisfiable && m_request.bytes >= 0 && m_received == m_request.bytes)
        return complete();
    if (status == kRangeNotSatisfiable)
        return fail(tr("What was downloaded before does not fit the server's file."), true);
    if (error != QNetworkReply::NoError && !isWhole)
        return fail(tr("The download broke off: %1. It can go on from here.").arg(reason));
    if (m_total >= 0 && !isWhole)
        return fail(tr("The download broke off after %1 of %2 bytes. It can go on from here.")
                        .arg(m_received)
                        .arg(m_total));
    complete();
}

void Download::complete() {
    if (!syncToDisk(m_file))
        return fail(tr("%1 cannot be written: %2").arg(part(), m_file.errorString()));
    if (m_request.bytes >= 0 && m_received != m_request.bytes)
        return fail(
            tr("The file has %1 bytes, expected were %2.").arg(m_received).arg(m_request.bytes),
            true);
    // Large files take seconds: away from the UI thread. The destructor waits for it.
    m_hashing.reset(QThread::create([this, path = part(), wanted = m_request.sha256.toLower()] {
        bool isRight = wanted.isEmpty();
        QFile file(path);
        QCryptographicHash hash(QCryptographicHash::Sha256);
        if (!isRight && file.open(QIODevice::ReadOnly) && hash.addData(&file))
            isRight = hash.result().toHex() == wanted;
        QMetaObject::invokeMethod(
            this, [this, isRight] { takeIntoUse(isRight); }, Qt::QueuedConnection);
    }));
    m_hashing->start();
}

void Download::takeIntoUse(bool isRight) {
    m_hashing->wait();
    if (!isRight)
        return fail(tr("The file is not the one that was expected (its SHA-256 differs). It was "
                       "removed."),
                    true);
    m_file.close();
    QFile::remove(m_request.target);
    if (!QFile::rename(part(), m_request.target))
        return fail(tr("%1 cannot be written.").arg(m_request.target));
    emit finished(m_request.target);
}

void Download::fail(const QString& reason, bool removesPart) {
    if (m_reply) {
        m_reply->disconnect(this);
        m_reply->abort();
        m_reply->deleteLater();
        m_reply.clear();
    }
    m_file.close();
    if (removesPart) QFile::remove(part());
    if (removesPart) m_received = 0;
    emit failed(reason);
}

}  // namespace hokku::desktop
