// SPDX-License-Identifier: Apache-2.0
#include "models/download.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include <QNetworkReply>
#include <QRegularExpression>
#include <QStorageInfo>
#include <QThread>
#include <filesystem>

#include "hokku/settle_file.h"
#include "settings/sync_to_disk.h"

namespace hokku::desktop {
namespace {

constexpr int kTimeoutMs = 30'000;
constexpr qint64 kPieceBytes = 1 << 20;
/// Kept free on the disk besides the file.
constexpr qint64 kReserveBytes = 64 << 20;
constexpr int kPartialContent = 206, kOk = 200, kRangeNotSatisfiable = 416;

/// First byte and whole size of "bytes 10-99/100" or "bytes */100"; -1 where it says nothing of
/// use.
struct ContentRange {
    qint64 first = -1, total = -1;
};
ContentRange parseContentRange(const QByteArray& header) {
    static const QRegularExpression form(QStringLiteral("^bytes (\\*|(\\d+)-\\d+)/(\\d+|\\*)$"));
    const QRegularExpressionMatch match = form.match(QString::fromLatin1(header));
    if (!match.hasMatch()) return {};
    const auto number = [&](int group) {
        bool isNumber = false;
        const qint64 value = match.captured(group).toLongLong(&isNumber);
        return isNumber ? value : -1;
    };
    return {number(2), number(3)};
}

/// What tells one version of a file from the next, RFC 9110 section 13.1.5; empty: nothing does.
QByteArray versionOf(const QNetworkReply& reply) {
    const QByteArray tag = reply.rawHeader("ETag");
    if (!tag.isEmpty() && !tag.startsWith("W/")) return tag;
    return reply.rawHeader("Last-Modified");
}

std::filesystem::path toPath(const QString& path) {
    return std::filesystem::path(path.toStdU16String());
}

}  // namespace

Download::Download(const DownloadRequest& request, QObject* parent)
    : QObject(parent), m_request(request), m_total(request.bytes) {}

Download::~Download() {
    endReply();
    endChecking();
}

void Download::endReply() {
    if (!m_reply) return;
    m_reply->disconnect(this);
    m_reply->abort();
    m_reply->deleteLater();
    m_reply.clear();
}

void Download::endChecking() {
    if (!m_hashing) return;
    m_hashing->requestInterruption();
    m_hashing->wait();
    m_hashing.reset();
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
    if (!m_file.open(QIODevice::ReadWrite | QIODevice::Unbuffered)) return failToWrite();
    m_total = m_request.bytes;
    m_version.clear();
    QFile from(origin());
    const bool isKnown =
        from.open(QIODevice::ReadOnly) && from.readLine().trimmed() == m_request.url.toEncoded();
    if (isKnown) m_version = from.readLine().trimmed();
    // A part of something else with the same name is of no use.
    if (!isKnown) m_file.resize(0);
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
    if (m_received > 0 && !m_version.isEmpty()) request.setRawHeader("If-Range", m_version);
    m_clock.start();
    m_reply = m_network.get(request);
    m_reply->setReadBufferSize(4 * kPieceBytes);
    connect(m_reply, &QNetworkReply::readyRead, this, &Download::readData);
    connect(m_reply, &QNetworkReply::finished, this, &Download::end);
}

void Download::pause() {
    if (m_reply.isNull()) return;
    endReply();
    m_file.close();
    emit paused();
}

void Download::cancel() {
    pause();
    endChecking();
    removePart();
}

void Download::removePart() {
    m_file.close();
    QFile::remove(part());
    QFile::remove(origin());
    m_received = 0;
}

/// The server sends the whole file.
void Download::beginAnew() {
    m_received = m_atStart = 0;
    m_file.resize(0);
    m_file.seek(0);
    m_version = versionOf(*m_reply);
    QFile from(origin());
    const QByteArray text = m_request.url.toEncoded() + '\n' + m_version + '\n';
    if (!from.open(QIODevice::WriteOnly) || from.write(text) != text.size()) failToWrite();
}

/// What the server sends may begin elsewhere than was asked for, or be something else.
void Download::readHeaders() {
    m_hasHeaders = true;
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (status == kPartialContent) {
        const ContentRange range = parseContentRange(m_reply->rawHeader("Content-Range"));
        if (range.first != m_received)
            return fail(tr("The server sent another part of the file than was asked for."), true);
        const QByteArray version = versionOf(*m_reply);
        if (!m_version.isEmpty() && !version.isEmpty() && version != m_version)
            return fail(tr("The file on the server is no longer the same. The download must begin "
                           "anew."),
                        true);
        if (range.total >= 0) m_total = range.total;
        if (m_received == 0) beginAnew();
    } else if (status == kOk) {
        const QVariant length = m_reply->header(QNetworkRequest::ContentLengthHeader);
        if (length.isValid()) m_total = length.toLongLong();
        beginAnew();
    } else {
        return;  // end() says what is wrong
    }
    if (!m_reply) return;
    if (m_total < 0 && m_request.sha256.isEmpty())
        return fail(tr("The server does not say how long the file is: nobody could tell whether it "
                       "is whole."),
                    true);
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
        if (m_file.write(piece) != piece.size()) return failToWrite();
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
    const QString phrase =
        m_reply->attribute(QNetworkRequest::HttpReasonPhraseAttribute).toString();
    const ContentRange range = parseContentRange(m_reply->rawHeader("Content-Range"));
    m_reply->deleteLater();
    m_reply.clear();
    const bool isWhole = m_total >= 0 && m_received == m_total;
    if (status == kRangeNotSatisfiable) {
        // Nothing is left to be sent where all was there before.
        const qint64 size = range.total >= 0 ? range.total : m_request.bytes;
        const bool isExpected = m_request.bytes < 0 || m_request.bytes == size;
        if (m_received == size && isExpected) return complete();
        return fail(tr("What was downloaded before does not fit the server's file."), true);
    }
    constexpr int kFirstError = 400;
    if (status >= kFirstError) return fail(tr("The server refused: %1 %2").arg(status).arg(phrase));
    if (error != QNetworkReply::NoError && !isWhole)
        return fail(tr("The download broke off: %1. It can go on from here.").arg(reason));
    if (m_total >= 0 && !isWhole)
        return fail(tr("The download broke off after %1 of %2 bytes. It can go on from here.")
                        .arg(m_received)
                        .arg(m_total));
    complete();
}

void Download::complete() {
    if (!syncToDisk(m_file)) return failToWrite();
    m_file.close();
    if (m_request.bytes >= 0 && m_received != m_request.bytes)
        return fail(
            tr("The file has %1 bytes, expected were %2.").arg(m_received).arg(m_request.bytes),
            true);
    // Large files take seconds: away from the UI thread.
    m_hashing.reset(QThread::create([this, path = part(), wanted = m_request.sha256.toLower()] {
        const auto goesOn = [] { return !QThread::currentThread()->isInterruptionRequested(); };
        settle_written_file(toPath(path), goesOn);
        bool isRight = wanted.isEmpty();
        QFile file(path);
        if (!isRight && file.open(QIODevice::ReadOnly)) {
            QCryptographicHash hash(QCryptographicHash::Sha256);
            for (QByteArray piece = file.read(kPieceBytes); !piece.isEmpty();
                 piece = file.read(kPieceBytes)) {
                if (QThread::currentThread()->isInterruptionRequested()) return;
                hash.addData(piece);
            }
            isRight = hash.result().toHex() == wanted;
        }
        QMetaObject::invokeMethod(
            this,
            [this, thread = QThread::currentThread(), isRight] {
                // Not of a check that was cancelled meanwhile.
                if (m_hashing.get() == thread) takeIntoUse(isRight);
            },
            Qt::QueuedConnection);
    }));
    emit checking();
    m_hashing->start();
}

void Download::takeIntoUse(bool isRight) {
    endChecking();
    if (!isRight)
        return fail(tr("The file is not the one that was expected (its SHA-256 differs). It was "
                       "removed."),
                    true);
    // In one step: at no time is there nothing by that name, or half of it.
    std::error_code error;
    std::filesystem::rename(toPath(part()), toPath(m_request.target), error);
    if (error) return fail(tr("%1 cannot be written.").arg(m_request.target));
    QFile::remove(origin());
    emit finished(m_request.target);
}

void Download::fail(const QString& reason, bool removesPart) {
    endReply();
    m_file.close();
    if (removesPart || m_received == 0) removePart();
    emit failed(reason);
}

void Download::failToWrite() {
    if (m_file.error() == QFile::ResourceError)
        return fail(tr("The disk is full. The download can go on from here when there is room."));
    fail(tr("%1 cannot be written: %2").arg(part(), m_file.errorString()));
}

}  // namespace hokku::desktop
