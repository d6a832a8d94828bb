// SPDX-License-Identifier: Apache-2.0
// MappedFile: the bytes of one regular file, mapped read-only, or read into memory where mapping
// is not wanted or does not work (some network and FUSE mounts). It knows nothing of formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/byte_reader.h"
#include "base/read_fault_guard.h"
#include "hokku/result.h"

namespace hokku {

/// Errors : io (no such file, not a regular file, empty, unreadable), out_of_memory.
/// Threads: loading on one thread at a time; reading from any thread afterwards.
/// Cost   : mapped: no page is touched. Read: address space for the whole file, memory only for
///          what was loaded.
class MappedFile final : public ByteLoader {
  public:
    /// Opens a regular file of at least one byte. The address of its bytes never changes.
    static Result<std::unique_ptr<MappedFile>> open(const std::filesystem::path& path,
                                                    bool use_mapping = true);
    /// Bytes that belong to somebody else and outlive this, in place of a file of that name.
    static std::unique_ptr<MappedFile> view(const std::filesystem::path& path,
                                            std::span<const std::byte> bytes);
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() override;

    /// The whole file. Without a mapping only loaded bytes may be looked at.
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] bool is_mapped() const { return is_mapped_; }

    /// Makes the bytes [begin, end) readable; false when reading fails. Mapped: nothing to do.
    bool load(size_t begin, size_t end) override;
    /// Makes every byte readable and closes the file. `on_piece` is called with the bytes done
    /// before each piece of 8 MiB; false ends it with the error `cancelled`.
    Result<void> load_all(const std::function<bool(size_t done)>& on_piece = {});

    /// A page could not be read: it reads as zeros, and this stays true.
    [[nodiscard]] bool has_read_fault() const;

  private:
    MappedFile() = default;
    // Of the system:
    bool read_range(size_t begin, size_t end);
    void protect_bytes();
    void close_file();

    std::filesystem::path path_;
    std::span<const std::byte> bytes_;
    std::optional<ReadFaultGuard> guard_;
    bool is_mapped_ = false;
    bool is_foreign_ = false;  ///< Somebody else frees the bytes.
    static constexpr intptr_t kNoFile = -1;
    intptr_t file_ = kNoFile;  ///< The system's handle; only while bytes are still to be loaded.
    size_t loaded_begin_ = 0, loaded_end_ = 0;  ///< The stretch that was loaded last.
};

}  // namespace hokku
