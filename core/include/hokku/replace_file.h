// SPDX-License-Identifier: Apache-2.0
// Writing a small file so that its name never shows half of it.
#pragma once

#include <filesystem>
#include <string_view>

#include "hokku/result.h"

namespace hokku {

/// Writes `bytes` into NAME.part, forces that to the disk and puts it in place of the file of that
/// name, if there is one. Readable by its owner alone. On failure nothing is changed or left.
///
/// Errors : io with the system's reason.
/// Threads: safe from any thread; of two writers of one file, one is refused.
Result<void> replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace hokku
