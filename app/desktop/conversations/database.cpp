// SPDX-License-Identifier: Apache-2.0
#include "conversations/database.h"

#include <QFile>
#include <QSqlError>
#include <QUuid>

namespace hokku::desktop {

Result<std::unique_ptr<Database>> Database::open(const QString& path, Access access) {
    std::unique_ptr<Database> opened(new Database);
    opened->m_path = path;
    opened->m_connection = QUuid::createUuid().toString();
    opened->m_database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), opened->m_connection);
    QSqlDatabase& database = opened->m_database;
    database.setDatabaseName(path.isEmpty() ? QStringLiteral(":memory:") : path);
    QString options = QStringLiteral("QSQLITE_BUSY_TIMEOUT=2000");
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
    return Error{ErrorCode::io, (doing + QStringLiteral(": ") + said).toStdString(),
                 (m_path.isEmpty() ? QStringLiteral("memory") : m_path).toStdString(), ""};
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

Result<void> migrate(const Database& database, const QVector<Migration>& migrations) {
    Result<int> version = databaseVersion(database);
    if (!version.ok()) return version.error();
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
