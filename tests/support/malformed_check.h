// SPDX-License-Identifier: Apache-2.0
// Runs malformed files through one entry point of the product and checks how each is refused.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/child_process.h"
#include "support/malformed_files.h"

namespace hokku::testing {

/// What is tried of the corpus.
struct MalformedTrial {
    std::function<bool(RefusedBy)> is_wanted;
    size_t min_num_files = 0;
    /// Cut-off headers: each n-th of the hundreds only, where an attempt is slow.
    size_t cut_step = 1;
    /// Opens the file and reports: text is the error's message, is_clean that it was refused in
    /// the way it should be.
    std::function<ChildReport(const std::filesystem::path&)> attempt;
};

/// Tries the files and checks crash, cause, file name, time (1 s) and memory (64 MB) by Catch
/// assertions.
void check_malformed_files(const MalformedTrial& trial);

/// An attempt in a child process; `message_of` gives the message of the error.
std::function<ChildReport(const std::filesystem::path&)> in_child(
    std::function<std::string(const std::filesystem::path&)> message_of);

}  // namespace hokku::testing
