// SPDX-License-Identifier: Apache-2.0
// ScratchFolder: an empty folder for one test, removed with all that is in it.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>

namespace hokku::testing {

class ScratchFolder {
  public:
    ScratchFolder() {
        static std::atomic<int> count{0};
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        path_ = std::filesystem::temp_directory_path() /
                ("hokku-test-" + std::to_string(now) + "-" + std::to_string(count++));
        std::filesystem::create_directories(path_);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace hokku::testing
