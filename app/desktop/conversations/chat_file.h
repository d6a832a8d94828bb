// SPDX-License-Identifier: Apache-2.0
// ChatFile: the database of the conversations: the file, or, while that cannot be written, a copy
// in memory that the session goes on with.
#pragma once

#include <QString>
#include <functional>
#include <memory>

#include "conversations/database.h"
#include "look/notice_words.h"

namespace hokku::desktop {

/// A file that can be written is written, and nothing else. When that fails (a full disk, a folder
/// that is read-only, a file of a newer version or a damaged one), everything goes on in memory and
/// `onNotice` says so in plain words. tryToStore() brings what has changed into the file as soon as
/// that can be; a file of a newer version and a damaged one are left as they are.
///
/// Threads: the thread that opened it.
class ChatFile {
  public:
    /// An empty path: in memory from the start, without a word.
    /// Errors : io where not even memory can be had.
    static Result<std::unique_ptr<ChatFile>> open(const QString& path);
    ~ChatFile();
    ChatFile(const ChatFile&) = delete;
    ChatFile& operator=(const ChatFile&) = delete;

    /// What holds the conversations now; may be another one after change() and tryToStore().
    [[nodiscard]] const Database& database() const { return m_memory ? *m_memory : *m_file; }
    [[nodiscard]] bool isInMemory() const { return m_memory != nullptr; }
    /// What there is to say after opening; empty: nothing.
    [[nodiscard]] const NoticeWords& notice() const { return m_notice; }

    /// Runs statements that change something, in one transaction; again, in memory, where the file
    /// does not take them.
    Result<void> change(const std::function<Result<void>()>& work);
    /// Whether all is in the file now.
    bool tryToStore();

    std::function<void(const NoticeWords&)> onNotice;  ///< May be empty.

  private:
    enum class Reach { writable, readable, none };  ///< Of the file.

    explicit ChatFile(const QString& path) : m_path(path) {}
    Result<void> openFile();
    Result<void> transact(const std::function<Result<void>()>& work) const;
    Result<void> goOnInMemory(const Error& why);
    Result<void> copyFromFile();
    Result<void> copyTables();
    [[nodiscard]] bool hasTables() const;
    Result<void> attachFile(const QString& options) const;
    Result<void> storeChanges();
    Result<void> writeChanges();
    [[nodiscard]] NoticeWords explain(const Error& error) const;

    QString m_path;
    NoticeWords m_notice;
    std::unique_ptr<Database> m_file, m_memory;
    Reach m_reach = Reach::writable;
    /// Of the file when it was copied: rows beyond these are of somebody else.
    qint64 m_lastChat = 0, m_lastMessage = 0;
};

}  // namespace hokku::desktop
