// SPDX-License-Identifier: Apache-2.0
// ScratchFolder: an empty folder for one test, removed with all that is in it. Its name has spaces
// and letters beyond ASCII, so that every test with files is one of such paths too.
#pragma once

#include <atomic>
#include <filesystem>
#include <random>
#include <string>

#include "hokku/paths.h"

namespace hokku::testing {

class ScratchFolder {
  public:
    ScratchFolder() {
        static std::atomic<int> count{0};
        std::random_device random;
        path_ = std::filesystem::temp_directory_path() /
                path_from_utf8("hokku-test é 俳句-" + std::to_string(random()) + "-" +
                               std::to_string(count++));
        std::filesystem::create_directories(path_);
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const {
        return path_ / path_from_utf8(name);
    }

  private:
    std::filesystem::path path_;
};

}  // namespace hokku::testing
