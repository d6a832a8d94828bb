// SPDX-License-Identifier: Apache-2.0
// Runs malformed files through one entry point of the product and checks how each is refused.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/malformed_files.h"

namespace hokku::testing {

/// For each malformed file that is refused by one of the given layers: `message_of` gives the
/// error's message, or something else when the file is taken. Each runs in a child process; crash,
/// cause, file name, time (1 s) and memory (64 MB) are checked by Catch assertions.
void check_malformed_files(
    const std::function<bool(RefusedBy)>& is_wanted, size_t min_num_files,
    const std::function<std::string(const std::filesystem::path&)>& message_of);

}  // namespace hokku::testing
