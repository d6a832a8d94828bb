// SPDX-License-Identifier: Apache-2.0
#include "settings/data_folder.h"

#include <QCryptographicHash>
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QLocale>
#include <QSettings>
#include <QStorageInfo>
#include <algorithm>

#include "settings/sync_to_disk.h"

namespace hokku::desktop {
namespace {

constexpr qint64 kPieceBytes = 1 << 20, kSpareBytes = 16 << 20;

const QString kWantedKey = QStringLiteral("data_folder_wanted"),
              kModelKey = QStringLiteral("model"), kChats = QStringLiteral("chats.sqlite"),
              kPart = QStringLiteral(".copy-part");

QString canonical(const QString& folder) {
    const QString path = QFileInfo(folder).canonicalFilePath();
    return path.isEmpty() ? QDir::cleanPath(folder) : path;
}

bool isWithin(const QString& inner, const QString& outer) {
    return inner == outer || inner.startsWith(outer + QLatin1Char('/'));
}

/// Empty where the file cannot be read.
QByteArray hashOf(const QString& path) {
    QFile file(path);
    QCryptographicHash hash(QCryptographicHash::Sha256);
    if (!file.open(QIODevice::ReadOnly) || !hash.addData(&file)) return {};
    return hash.result();
}

/// All entries below `folder` by their relative paths, folders before what is in them, and the
/// conversations last: a folder that has them is whole.
QStringList entriesOf(const QString& folder) {
    QStringList entries;
    // Nothing else keeps a database that is closed, or its process killed.
    const QString sharedMemory = kChats + QStringLiteral("-shm");
    QDirIterator walk(folder, QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot,
                      QDirIterator::Subdirectories);
    while (walk.hasNext()) {
        const QString entry = QDir(folder).relativeFilePath(walk.next());
        if (entry != sharedMemory && !entry.endsWith(kPart)) entries.append(entry);
    }
    std::sort(entries.begin(), entries.end());
    if (entries.removeOne(kChats)) entries.append(kChats);
    return entries;
}

/// Also one that is not there.
bool isEmpty(const QString& folder) {
    return !QFileInfo::exists(folder) ||
           (QFileInfo(folder).isDir() && QDir(folder).isEmpty(QDir::AllEntries | QDir::Hidden |
                                                              QDir::System | QDir::NoDotAndDotDot));
}

bool canWriteIn(const QString& folder) {
    QFile probe(folder + QStringLiteral("/.hokku-probe"));
    const bool canWrite = probe.open(QIODevice::WriteOnly);
    if (canWrite) probe.remove();
    return canWrite;
}

}  // namespace

bool DataFolder::isLibrary(const QString& folder) {
    return QFileInfo(folder + QLatin1Char('/') + kChats).isFile();
}

QString DataFolder::wanted(const AppFolders& folders) {
    return QSettings(folders.settingsFile, QSettings::IniFormat).value(kWantedKey).toString();
}

QString DataFolder::want(const AppFolders& folders, const QString& chosen) {
    QString target = canonical(chosen);
    const QString present = canonical(folders.data);
    if (target != present && !isLibrary(target) && !isEmpty(target))
        target += QStringLiteral("/Hokku");
    if (target == present) {
        keepPresent(folders);
        return {};
    }
    if (isWithin(target, present))
        return tr("%1 lies within the folder of today. Please choose one elsewhere.").arg(target);
    if (!isLibrary(target) && !isEmpty(target))
        return tr("There are other files in %1. Please choose an empty folder.").arg(target);
    if (!QDir().mkpath(target) || !canWriteIn(target))
        return tr("Nothing can be written to %1. Please choose another folder.").arg(target);
    QSettings settings(folders.settingsFile, QSettings::IniFormat);
    settings.setValue(kWantedKey, target);
    settings.sync();
    if (settings.status() != QSettings::NoError)
        return tr("%1 cannot be written.").arg(folders.settingsFile);
    return {};
}

void DataFolder::keepPresent(const AppFolders& folders) {
    QSettings(folders.settingsFile, QSettings::IniFormat).remove(kWantedKey);
}

void DataFolder::forget(const AppFolders& folders) {
    QSettings(folders.settingsFile, QSettings::IniFormat).remove(AppFolders::kDataFolderKey);
}

QString DataFolder::carryOut(const AppFolders& folders, CopyProgress& progress) {
    const QString target = wanted(folders);
    if (target.isEmpty()) return {};
    if (!isLibrary(target)) {
        QStringList made;
        const QString problem = copyLibrary(folders, target, progress, made);
        if (!problem.isEmpty()) {
            for (const QString& path : made) QFile::remove(path);
            keepPresent(folders);
            return problem;
        }
    }
    QSettings settings(folders.settingsFile, QSettings::IniFormat);
    const QString model = settings.value(kModelKey).toString(), present = folders.data;
    const QString moved = target + model.mid(present.size());
    if (isWithin(model, present) && QFileInfo(moved).isFile()) settings.setValue(kModelKey, moved);
    settings.setValue(QLatin1String(AppFolders::kDataFolderKey), target);
    settings.remove(kWantedKey);
    settings.sync();
    if (settings.status() != QSettings::NoError)
        return tr("%1 cannot be written.").arg(folders.settingsFile);
    return {};
}

QString DataFolder::copyLibrary(const AppFolders& folders, const QString& to,
                                CopyProgress& progress, QStringList& made) {
    const QString from = folders.data;
    const QStringList entries = entriesOf(from);
    const auto source = [&](const QString& entry) { return QFileInfo(QDir(from), entry); };
    qint64 bytes = 0;
    for (const QString& entry : entries)
        if (source(entry).isFile() && !source(entry).isSymLink()) bytes += source(entry).size();
    progress.totalBytes = bytes;
    // It was made when it was chosen: a disk may have been taken out since.
    if (!QFileInfo(to).isDir()) return tr("The folder %1 is not there.").arg(to);
    const qint64 free = QStorageInfo(to).bytesAvailable();
    if (free >= 0 && free < bytes + kSpareBytes)
        return tr("%1 are needed in %2, but only %3 are free.")
            .arg(QLocale().formattedDataSize(bytes), to, QLocale().formattedDataSize(free));
    for (const QString& entry : entries) {
        if (progress.isCancelled) return tr("The copying was cancelled.");
        const QFileInfo info = source(entry);
        const QString target = to + QLatin1Char('/') + entry;
        if (info.isSymLink() && !isWithin(info.symLinkTarget(), from)) {
            if (QFileInfo(target).symLinkTarget() == info.symLinkTarget()) continue;
            if (!QFile::link(info.symLinkTarget(), target))
                return tr("%1 cannot be written.").arg(target);
            made.append(target);
        } else if (info.isDir()) {
            if (!QDir().mkpath(target)) return tr("%1 cannot be written.").arg(target);
        } else if (info.isFile()) {
            const bool wasThere = QFileInfo::exists(target);
            const QString problem = copyFile(info.filePath(), target, progress);
            if (!problem.isEmpty()) return problem;
            if (!wasThere) made.append(target);
        }
    }
    return {};
}

QString DataFolder::copyFile(const QString& from, const QString& to, CopyProgress& progress) {
    QFile in(from), out(to + kPart);
    if (QFileInfo::exists(to)) {
        // Of an earlier start that was broken off; what is not is nobody's to replace.
        const QByteArray hash = hashOf(from);
        if (hash.isEmpty() || hash != hashOf(to))
            return tr("There is another file in the place of %1.").arg(to);
        progress.doneBytes += QFileInfo(from).size();
        return {};
    }
    if (!in.open(QIODevice::ReadOnly))
        return tr("%1 cannot be read: %2").arg(from, in.errorString());
    QCryptographicHash hash(QCryptographicHash::Sha256);
    const auto giveUp = [&](const QString& problem) {
        out.remove();
        return problem;
    };
    bool isWritten = out.open(QIODevice::WriteOnly);
    while (isWritten && !in.atEnd()) {
        if (progress.isCancelled) return giveUp(tr("The copying was cancelled."));
        const QByteArray piece = in.read(kPieceBytes);
        if (piece.isEmpty()) return giveUp(tr("%1 cannot be read: %2").arg(from, in.errorString()));
        hash.addData(piece);
        isWritten = out.write(piece) == piece.size();
        progress.doneBytes += piece.size();
    }
    if (!isWritten || !syncToDisk(out))
        return giveUp(tr("%1 cannot be written: %2").arg(to, out.errorString()));
    out.setPermissions(in.permissions());
    out.close();
    if (hashOf(out.fileName()) != hash.result())
        return giveUp(tr("%1 was copied wrongly: the disk may be damaged.").arg(to));
    if (!out.rename(to)) return giveUp(tr("%1 cannot be written: %2").arg(to, out.errorString()));
    return {};
}

}  // namespace hokku::desktop
