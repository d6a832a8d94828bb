// SPDX-License-Identifier: Apache-2.0
// Database: one SQLite connection with statements that give errors as values, and the steps that
// bring an older file to the present form.
#pragma once

#include <QSqlDatabase>
#include <QSqlQuery>
#include <QString>
#include <QVariant>
#include <QVector>
#include <memory>

#include "hokku/result.h"

namespace hokku::desktop {

/// What keeps a database from being written, where it is not the statement.
enum class StorageProblem { none, full, notWritable, damaged };
/// Of an error of Database.
StorageProblem storageProblem(const Error& error);

/// Threads: the thread that opened it.
class Database {
  public:
    enum class Access { readWrite, readOnly };

    /// An empty path is a database in memory, to which files can be attached by URI.
    /// Errors : of all members: io, bad_format for a damaged file, bad_argument for a statement
    ///          that is wrong; naming the file and what SQLite says.
    static Result<std::unique_ptr<Database>> open(const QString& path, Access access);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Runs one statement with its values.
    Result<QSqlQuery> run(const QString& sql, const QVariantList& values = {}) const;
    /// Runs a list of statements in one transaction, all or none.
    Result<void> runAll(const QStringList& statements) const;

    Result<void> begin() const;
    Result<void> commit() const;
    void rollBack() const;
    [[nodiscard]] Error error(const QString& doing, const QSqlError& cause) const;
    [[nodiscard]] const QString& path() const { return m_path; }

  private:
    Database() = default;
    QString m_path, m_connection;
    QSqlDatabase m_database;
};

/// One step of a database's form: from version index to index + 1.
using Migration = QStringList;

/// Brings the database to version migrations.size(), step by step, each all or nothing. A file
/// that holds something is copied to PATH.vN.backup first.
/// Errors : io; what was there stays as it was.
Result<void> migrate(const Database& database, const QVector<Migration>& migrations);
/// PRAGMA user_version: how many migrations it has seen.
Result<int> databaseVersion(const Database& database);

/// Errors : damaged (see storageProblem) where one of these tables is missing.
Result<void> checkTables(const Database& database, const QStringList& names);

}  // namespace hokku::desktop
