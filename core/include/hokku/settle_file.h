// SPDX-License-Identifier: Apache-2.0
// What makes a model file that was just written as fast as one that was there before.
#pragma once

#include <filesystem>
#include <functional>

namespace hokku {

/// Waits until the disk has a file that this process has just written, and reads it back in huge
/// pages where the system has them for files. One that came in pieces stays in memory in small
/// pages, and a model in those computes more slowly. `goes_on` is asked before each few MiB are
/// read; false leaves the rest. Whatever fails here is found out by who reads the file next.
///
/// Errors : none.
/// Threads: re-entrant.
void settle_written_file(const std::filesystem::path& path, const std::function<bool()>& goes_on);

}  // namespace hokku
