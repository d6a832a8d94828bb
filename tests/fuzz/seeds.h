// SPDX-License-Identifier: Apache-2.0
// Binary inputs to start fuzzing from, made by code: good files, and small malformed ones.
#pragma once

#include <filesystem>

namespace hokku::testing {

/// Into FOLDER/gguf and FOLDER/kv_file. Malformed files have tests of their own, so that only a
/// search needs them as seeds.
/// Errors : throws where a file cannot be written.
void write_seeds(const std::filesystem::path& folder, bool with_malformed_files);

}  // namespace hokku::testing
