// SPDX-License-Identifier: Apache-2.0
#include "conversations/database.h"

#include <QFile>
#include <QSqlError>
#include <QUuid>

namespace hokku::desktop {
namespace {

constexpr const char* kRoom = "room on the disk";
constexpr const char* kWritable = "a file that can be written";
constexpr const char* kWhole = "a database that is whole";

/// https://www.sqlite.org/rescode.html; the lowest byte is the kind.
enum SqliteCode {
    permission = 3,
    busy = 5,
    locked = 6,
    readOnly = 8,
    ioError = 10,
    corrupt = 11,
    full = 13,
    cannotOpen = 14,
    noLargeFiles = 22,
    notADatabase = 26
};

}  // namespace

StorageProblem storageProblem(const Error& error) {
    if (error.expected == kRoom) return StorageProblem::full;
    if (error.expected == kWritable) return StorageProblem::notWritable;
    if (error.expected == kWhole) return StorageProblem::damaged;
    return StorageProblem::none;
}

Result<std::unique_ptr<Database>> Database::open(const QString& path, Access access) {
    std::unique_ptr<Database> opened(new Database);
    opened->m_path = path;
    opened->m_connection = QUuid::createUuid().toString();
    opened->m_database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), opened->m_connection);
    QSqlDatabase& database = opened->m_database;
    database.setDatabaseName(path.isEmpty() ? QStringLiteral(":memory:") : path);
    QString options = QStringLiteral("QSQLITE_BUSY_TIMEOUT=2000");
    if (path.isEmpty()) options += QStringLiteral(";QSQLITE_OPEN_URI");
    if (access == Access::readOnly) options += QStringLiteral(";QSQLITE_OPEN_READONLY");
    database.setConnectOptions(options);
    if (!database.open())
        return opened->error(QStringLiteral("the conversations cannot be opened"),
                             database.lastError());
    QStringList settings{QStringLiteral("PRAGMA foreign_keys=ON")};
    if (access == Access::readWrite) {
        // WAL: readers and the writer do not wait for each other; FULL: a commit is on the disk.
        settings << QStringLiteral("PRAGMA journal_mode=WAL")
                 << QStringLiteral("PRAGMA synchronous=FULL");
    }
    for (const QString& setting : settings) {
        if (Result<QSqlQuery> done = opened->run(setting); !done.ok()) return done.error();
    }
    return opened;
}

Database::~Database() {
    m_database.close();
    m_database = QSqlDatabase();
    QSqlDatabase::removeDatabase(m_connection);
}

Error Database::error(const QString& doing, const QSqlError& cause) const {
    const QString said = cause.databaseText().isEmpty() ? cause.text() : cause.databaseText();
    Error error{ErrorCode::bad_argument, (doing + QStringLiteral(": ") + said).toStdString(),
                (m_path.isEmpty() ? QStringLiteral("memory") : m_path).toStdString(), ""};
    switch (cause.nativeErrorCode().toInt() & 0xff) {
        case full:
            error.code = ErrorCode::io;
            error.expected = kRoom;
            break;
        case permission:
        case busy:
        case locked:
        case readOnly:
        case ioError:
        case cannotOpen:
        case noLargeFiles:
            error.code = ErrorCode::io;
            error.expected = kWritable;
            break;
        case corrupt:
        case notADatabase:
            error.code = ErrorCode::bad_format;
            error.expected = kWhole;
            break;
        default:
            break;
    }
    return error;
}

Result<QSqlQuery> Database::run(const QString& sql, const QVariantList& values) const {
    QSqlQuery query(m_database);
    query.setForwardOnly(true);
    if (!query.prepare(sql))
        return error(QStringLiteral("the conversations cannot be read"), query.lastError());
    for (const QVariant& value : values) query.addBindValue(value);
    if (!query.exec())
        return error(sql.startsWith(QLatin1String("SELECT"))
                         ? QStringLiteral("the conversations cannot be read")
                         : QStringLiteral("the conversation cannot be stored"),
                     query.lastError());
    return query;
}

Result<void> Database::begin() const {
    Result<QSqlQuery> begun = run(QStringLiteral("BEGIN IMMEDIATE"));
    if (!begun.ok()) return begun.error();
    return {};
}

Result<void> Database::commit() const {
    Result<QSqlQuery> committed = run(QStringLiteral("COMMIT"));
    if (committed.ok()) return {};
    rollBack();
    return committed.error();
}

void Database::rollBack() const {
    QSqlQuery query(m_database);
    query.exec(QStringLiteral("ROLLBACK"));
}

Result<void> Database::runAll(const QStringList& statements) const {
    if (Result<void> begun = begin(); !begun.ok()) return begun;
    for (const QString& statement : statements) {
        if (Result<QSqlQuery> done = run(statement); !done.ok()) {
            rollBack();
            return done.error();
        }
    }
    return commit();
}

Result<int> databaseVersion(const Database& database) {
    Result<QSqlQuery> version = database.run(QStringLiteral("PRAGMA user_version"));
    if (!version.ok()) return version.error();
    return version->next() ? version->value(0).toInt() : 0;
}

Result<void> checkTables(const Database& database, const QStringList& names) {
    for (const QString& name : names)
        if (!database.run(QStringLiteral("SELECT 1 FROM %1 LIMIT 0").arg(name)).ok())
            return Error{ErrorCode::bad_format,
                         "the conversations lack the table " + name.toStdString(),
                         database.path().toStdString(), kWhole};
    return {};
}

Result<void> migrate(const Database& database, const QVector<Migration>& migrations) {
    Result<int> version = databaseVersion(database);
    if (!version.ok()) return version.error();
    if (*version < 0)
        return Error{ErrorCode::bad_format,
                     "the conversations are of version " + std::to_string(*version),
                     database.path().toStdString(), kWhole};
    if (*version >= migrations.size()) return {};
    if (*version > 0 && !database.path().isEmpty()) {
        const QString backup = QStringLiteral("%1.v%2.backup").arg(database.path()).arg(*version);
        const QString unfinished = backup + QStringLiteral(".part");
        QFile::remove(unfinished);
        Result<QSqlQuery> copied = database.run(QStringLiteral("VACUUM INTO ?"), {unfinished});
        if (!copied.ok()) return copied.error();
        QFile::remove(backup);
        if (!QFile::rename(unfinished, backup))
            return Error{ErrorCode::io, "the backup of the conversations cannot be named",
                         backup.toStdString(), "a folder that can be written"};
    }
    for (int next = *version; next < migrations.size(); ++next) {
        QStringList statements = migrations[next];
        statements << QStringLiteral("PRAGMA user_version=%1").arg(next + 1);
        if (Result<void> done = database.runAll(statements); !done.ok()) return done;
    }
    return {};
}

}  // namespace hokku::desktop
