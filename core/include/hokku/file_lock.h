// SPDX-License-Identifier: Apache-2.0
// FileLock: one process at a time, by an empty file that is there as long as it is held.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "hokku/result.h"

namespace hokku {

/// Given back by the system when the process ends, however that is.
///
/// Threads: one thread at a time.
class FileLock {
  public:
    /// nullopt: another process holds it.
    /// Errors : io where the file cannot be made or the file system knows no locks.
    static Result<std::optional<FileLock>> take(const std::filesystem::path& path);
    FileLock(FileLock&& other) noexcept
        : path_(std::move(other.path_)), file_(std::exchange(other.file_, kNoFile)) {}
    FileLock& operator=(FileLock&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(file_, other.file_);
        return *this;
    }
    ~FileLock();

  private:
    static constexpr intptr_t kNoFile = -1;
    FileLock(std::filesystem::path path, intptr_t file) : path_(std::move(path)), file_(file) {}
    std::filesystem::path path_;
    intptr_t file_;  ///< A descriptor or a handle.
};

}  // namespace hokku
