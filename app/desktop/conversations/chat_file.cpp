// SPDX-License-Identifier: Apache-2.0
#include "conversations/chat_file.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStorageInfo>
#include <QUrl>

#include "conversations/chat_migrations.h"

namespace hokku::desktop {
namespace {

/// For lupdate.
struct Words {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::ChatFile)
};

const QString kChatColumns = QStringLiteral(
    "id, title, first_line, folder, pinned, model, preset, system_prompt, draft, scroll, "
    "active_leaf, updated, deleted");
const QString kMessageColumns =
    QStringLiteral("id, chat, parent, role, content, thought, state, stats, created, deleted");

/// Beside the tables in memory: the ids of what the file does not have yet.
QStringList recordingOfChanges() {
    const auto record = [](const char* name, const char* event, const char* table, const char* list,
                           const char* id) {
        return QStringLiteral(
                   "CREATE TEMP TRIGGER %1 AFTER %2 ON main.%3 BEGIN "
                   "INSERT OR IGNORE INTO %4 VALUES (%5); END")
            .arg(QLatin1String(name), QLatin1String(event), QLatin1String(table),
                 QLatin1String(list), QLatin1String(id));
    };
    return {
        QStringLiteral("CREATE TEMP TABLE changed_chats (id INTEGER PRIMARY KEY)"),
        QStringLiteral("CREATE TEMP TABLE changed_messages (id INTEGER PRIMARY KEY)"),
        record("chat_made", "INSERT", "chats", "changed_chats", "new.id"),
        record("chat_written", "UPDATE", "chats", "changed_chats", "new.id"),
        record("message_made", "INSERT", "messages", "changed_messages", "new.id"),
        record("message_written", "UPDATE", "messages", "changed_messages", "new.id"),
        record("piece_made", "INSERT", "message_pieces", "changed_messages", "new.message"),
        record("piece_gone", "DELETE", "message_pieces", "changed_messages", "old.message"),
    };
}

/// Inserts or updates the changed rows; REPLACE would delete a chat, and with it its messages.
QString upsert(const QString& table, const QString& columns) {
    QStringList updates;
    for (const QString& column : columns.split(QStringLiteral(", ")).mid(1))
        updates.append(QStringLiteral("%1=excluded.%1").arg(column));
    return QStringLiteral(
               "INSERT INTO disk.%1 (%2) SELECT %2 FROM main.%1 WHERE id IN "
               "(SELECT id FROM temp.changed_%1) ON CONFLICT(id) DO UPDATE SET %3")
        .arg(table, columns, updates.join(QStringLiteral(", ")));
}

QString delayText() {
    return Words::tr(
        "You can go on; what is new is kept in memory, and stored as "
        "soon as that is possible.");
}

QString lossText() {
    return Words::tr(
        "The file is left as it is. You can go on, but what is new is "
        "lost when Hokku is closed.");
}

QString withRest(const QString& text, const QString& rest) {
    return text + QLatin1Char(' ') + rest;
}

/// The highest id of a table; 0 for none.
Result<qint64> lastId(const Database& database, const char* table) {
    Result<QSqlQuery> rows =
        database.run(QStringLiteral("SELECT max(id) FROM ") + QLatin1String(table));
    if (!rows.ok()) return rows.error();
    return rows->next() ? rows->value(0).toLongLong() : 0;
}

}  // namespace

ChatFile::~ChatFile() {
    onNotice = {};
    tryToStore();
}

Result<std::unique_ptr<ChatFile>> ChatFile::open(const QString& path) {
    std::unique_ptr<ChatFile> opened(new ChatFile(path));
    const Result<void> done = opened->openFile();
    if (done.ok()) return opened;
    if (path.isEmpty()) return done.error();
    if (Result<void> gone = opened->goOnInMemory(done.error()); !gone.ok()) return gone.error();
    return opened;
}

Result<void> ChatFile::openFile() {
    auto file = Database::open(m_path, Database::Access::readWrite);
    if (!file.ok()) return file.error();
    const Result<int> version = databaseVersion(**file);
    if (version.ok() && *version > chatMigrations().size()) {
        m_reach = Reach::readable;
        return Error{ErrorCode::unsupported, "the file is of a newer version", m_path.toStdString(),
                     ""};
    }
    if (Result<void> migrated = migrate(**file, chatMigrations()); !migrated.ok()) return migrated;
    const QStringList tables{QStringLiteral("chats"), QStringLiteral("messages"),
                             QStringLiteral("message_pieces")};
    if (Result<void> there = checkTables(**file, tables); !there.ok()) return there;
    m_file = std::move(*file);
    return {};
}

/// Why the file cannot be written, for people.
NoticeWords ChatFile::explain(const Error& error) const {
    if (error.code == ErrorCode::unsupported)
        return [] {
            return withRest(
                Words::tr("The conversations were written by a newer version of Hokku."),
                lossText());
        };
    StorageProblem problem = storageProblem(error);
    // SQLite does not always say why it could not make a file larger.
    constexpr qint64 kLeastBytes = 256 * 1024;
    const QStorageInfo disk(QFileInfo(m_path).absolutePath());
    if (problem == StorageProblem::notWritable && disk.isValid() && !disk.isReadOnly() &&
        disk.bytesAvailable() < kLeastBytes)
        problem = StorageProblem::full;
    switch (problem) {
        case StorageProblem::full:
            return [] {
                return withRest(Words::tr("The disk is full: the conversations cannot be stored."),
                                delayText());
            };
        case StorageProblem::damaged:
            return [path = m_path] {
                return withRest(
                    Words::tr("The file of the conversations is damaged (%1).").arg(path),
                    lossText());
            };
        case StorageProblem::notWritable:
        case StorageProblem::none:
            break;
    }
    return [path = m_path] {
        return withRest(
            Words::tr("The conversations cannot be stored: %1 cannot be written.").arg(path),
            delayText());
    };
}

Result<void> ChatFile::transact(const std::function<Result<void>()>& work) const {
    if (Result<void> begun = database().begin(); !begun.ok()) return begun;
    if (Result<void> done = work(); !done.ok()) {
        database().rollBack();
        return done;
    }
    return database().commit();
}

Result<void> ChatFile::change(const std::function<Result<void>()>& work) {
    const Result<void> done = transact(work);
    if (done.ok() || isInMemory() || m_path.isEmpty()) return done;
    if (storageProblem(done.error()) == StorageProblem::none) return done;
    if (Result<void> gone = goOnInMemory(done.error()); !gone.ok()) return gone;
    return transact(work);
}

// ---- into memory
// ---------------------------------------------------------------------------------

Result<void> ChatFile::goOnInMemory(const Error& why) {
    auto memory = Database::open({}, Database::Access::readWrite);
    if (!memory.ok()) return memory.error();
    if (Result<void> made = migrate(**memory, chatMigrations()); !made.ok()) return made;
    m_memory = std::move(*memory);
    NoticeWords words = explain(why);
    if (storageProblem(why) == StorageProblem::damaged) m_reach = Reach::readable;
    if (QFileInfo::exists(m_path) && !copyFromFile().ok()) {
        // What is in the file must not be overwritten by what knows nothing of it.
        m_reach = Reach::none;
        words = [path = m_path] {
            return Words::tr(
                       "The conversations in %1 cannot be read. The file is left as it is. You "
                       "can go on, but what is new is lost when Hokku is closed.")
                .arg(path);
        };
    }
    m_file.reset();
    if (Result<void> recorded = m_memory->runAll(recordingOfChanges()); !recorded.ok())
        return recorded;
    m_notice = words;
    if (onNotice) onNotice(words);
    return {};
}

Result<void> ChatFile::attachFile(const QString& options) const {
    const QString name =
        QUrl::fromLocalFile(m_path).toString(QUrl::FullyEncoded) + QLatin1Char('?') + options;
    const auto attached = m_memory->run(QStringLiteral("ATTACH ? AS disk"), {name});
    if (!attached.ok()) return attached.error();
    // Only reading tells whether it can be read.
    const auto version = m_memory->run(QStringLiteral("PRAGMA disk.user_version"));
    if (version.ok()) return {};
    static_cast<void>(m_memory->run(QStringLiteral("DETACH disk")));
    return version.error();
}

Result<void> ChatFile::copyFromFile() {
    // Where there is no log of changes beside the file, it is read as one that nobody changes: that
    // also works in a folder that cannot be written. Else it is opened for writing, which it is
    // not, as SQLite otherwise waits ten seconds for somebody to mend an index that was left
    // unfinished.
    constexpr qint64 kEmptyLogBytes = 32;
    const bool hasLog = QFileInfo(m_path + QStringLiteral("-wal")).size() > kEmptyLogBytes;
    const QString whole = QStringLiteral("mode=ro&immutable=1");
    Result<void> attached = attachFile(hasLog ? QStringLiteral("mode=rw") : whole);
    if (!attached.ok() && hasLog) attached = attachFile(whole);
    if (!attached.ok()) return attached;
    Result<void> copied = hasTables() ? copyTables() : Result<void>();
    const Result<qint64> chat = lastId(*m_memory, "disk.chats");
    const Result<qint64> message = lastId(*m_memory, "disk.messages");
    m_lastChat = chat.ok() ? *chat : 0;
    m_lastMessage = message.ok() ? *message : 0;
    static_cast<void>(m_memory->run(QStringLiteral("DETACH disk")));
    return copied;
}

/// Not where the file could just be made and no more.
bool ChatFile::hasTables() const {
    auto tables = m_memory->run(QStringLiteral("SELECT count(*) FROM disk.sqlite_schema"));
    return !tables.ok() || !tables->next() || tables->value(0).toInt() > 0;
}

Result<void> ChatFile::copyTables() {
    const auto copy = [](const char* table, const QString& columns, const char* where) {
        return QStringLiteral("INSERT OR IGNORE INTO main.%1 (%2) SELECT %2 FROM disk.%1 %3")
            .arg(QLatin1String(table), columns, QLatin1String(where));
    };
    const QString pieces = QStringLiteral("id, message, content, thought");
    Result<void> copied =
        m_memory->runAll({copy("chats", kChatColumns, ""), copy("messages", kMessageColumns, ""),
                          copy("message_pieces", pieces, "")});
    if (!copied.ok()) {
        // A damaged file: what can be read of each chat.
        m_reach = Reach::readable;
        copied = m_memory->runAll({copy("chats", kChatColumns, "")});
        const Result<qint64> known = lastId(*m_memory, "main.chats");
        const qint64 last = known.ok() ? *known : 0;
        for (qint64 id = 1; id <= last; ++id)
            static_cast<void>(
                m_memory->run(copy("messages", kMessageColumns, "WHERE chat=?"), {id}));
    }
    return copied;
}

// ---- back to the file
// ----------------------------------------------------------------------------

bool ChatFile::tryToStore() {
    if (!isInMemory()) return true;
    if (m_reach != Reach::writable) return false;
    if (!openFile().ok()) return false;
    if (!storeChanges().ok()) {
        m_file.reset();
        return false;
    }
    m_memory.reset();
    m_notice = {};
    if (onNotice) onNotice([] { return Words::tr("The conversations are stored again."); });
    return true;
}

Result<void> ChatFile::storeChanges() {
    if (Result<void> attached = attachFile(QStringLiteral("mode=rw")); !attached.ok())
        return attached;
    const Result<void> stored = writeChanges();
    static_cast<void>(m_memory->run(QStringLiteral("DETACH disk")));
    return stored;
}

Result<void> ChatFile::writeChanges() {
    const Result<qint64> chat = lastId(*m_memory, "disk.chats");
    const Result<qint64> message = lastId(*m_memory, "disk.messages");
    if (!chat.ok() || !message.ok() || *chat != m_lastChat || *message != m_lastMessage) {
        m_reach = Reach::readable;
        return Error{ErrorCode::io, "another program has changed the conversations",
                     m_path.toStdString(), ""};
    }
    const auto full = m_memory->run(QStringLiteral("PRAGMA disk.synchronous=FULL"));
    if (!full.ok()) return full.error();
    const QString changed = QStringLiteral("message IN (SELECT id FROM temp.changed_messages)");
    return m_memory->runAll(
        {upsert(QStringLiteral("chats"), kChatColumns),
         upsert(QStringLiteral("messages"), kMessageColumns),
         QStringLiteral("DELETE FROM disk.message_pieces WHERE ") + changed,
         QStringLiteral("INSERT INTO disk.message_pieces (message, content, thought) SELECT "
                        "message, content, thought FROM main.message_pieces WHERE %1 ORDER BY id")
             .arg(changed)});
}

}  // namespace hokku::desktop
