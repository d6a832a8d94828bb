// SPDX-License-Identifier: Apache-2.0
// FileWriter: writes a file so that its name never shows half of it: into NAME.part, which takes
// the name once all is on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "hokku/result.h"

namespace hokku {

/// Without commit() nothing of it is left behind. Readable by its owner alone.
///
/// Errors : io naming the file: the folder is missing or may not be written, the disk is full,
///          another process is writing the same file.
/// Threads: one thread at a time.
class FileWriter {
  public:
    static Result<FileWriter> create(const std::filesystem::path& path);
    FileWriter(FileWriter&& other) noexcept;
    FileWriter& operator=(FileWriter&& other) noexcept;
    ~FileWriter();

    /// Writes behind what has been appended so far.
    Result<void> append(std::span<const std::byte> bytes);
    /// Writes over what has been appended.
    Result<void> write_at(uint64_t offset, std::span<const std::byte> bytes);
    /// Puts everything on the disk and in place of the file of that name, if there is one.
    Result<void> commit();

    [[nodiscard]] uint64_t size_bytes() const { return size_; }

  private:
    FileWriter(std::filesystem::path path, intptr_t file);
    // Of the system:
    void discard();

    static std::filesystem::path part_of(const std::filesystem::path& path);

    std::filesystem::path path_, part_;
    static constexpr intptr_t kNoFile = -1;
    intptr_t file_ = kNoFile;  ///< The system's handle; none: committed, or moved from.
    uint64_t size_ = 0;
};

}  // namespace hokku
