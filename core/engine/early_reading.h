// SPDX-License-Identifier: Apache-2.0
// EarlyReading: keeps the disk at work from the moment a model is named, while its header is read
// and checked and nobody knows yet which weights are where.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/mapped_file.h"
#include "engine/read_ahead.h"

namespace hokku {

/// Reads the file from its beginning as long as it lives. What is in memory already costs next to
/// nothing. A file that does not fit in the available memory, or cannot be mapped, is left alone;
/// errors are found by who opens it.
class EarlyReading {
  public:
    EarlyReading(const std::filesystem::path& path, uint64_t available_bytes);

  private:
    std::unique_ptr<MappedFile> file_;
    std::optional<ReadAhead> pages_;  // ends before the mapping
};

}  // namespace hokku
