// SPDX-License-Identifier: Apache-2.0
// EarlyReading: keeps the disk at work from the moment a model is named, while its header is read
// and checked and nobody knows yet which weights are where.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/mapped_file.h"

namespace hokku {

/// Reads the file from its beginning as long as it lives, on a thread of its own. What is in memory
/// already costs next to nothing, and nothing is held: the system may drop it again. A file that
/// does not fit in the available memory, or cannot be mapped, is left alone; errors are found by
/// who opens it.
class EarlyReading {
  public:
    EarlyReading(const std::filesystem::path& path, uint64_t available_bytes);
    ~EarlyReading();
    EarlyReading(const EarlyReading&) = delete;
    EarlyReading& operator=(const EarlyReading&) = delete;

  private:
    void read() const;

    std::unique_ptr<MappedFile> file_;
    std::atomic<bool> is_stopped_{false};
    std::thread thread_;
};

}  // namespace hokku
