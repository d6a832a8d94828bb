// SPDX-License-Identifier: Apache-2.0
// Finds the reference data and the downloaded models that tests compare with. A test whose data
// is not there says so by name and is reported as skipped, never as passed.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace hokku::testing {

/// The checkout's top folder, and the build folder that the tests were built in.
std::filesystem::path source_folder();
std::filesystem::path binary_folder();

/// Path of `relative` in the golden folder beside the checkout; nullopt where it does not exist.
std::optional<std::filesystem::path> find_golden(std::string_view relative);

/// The same, or else the copy in tests/data (or in HOKKU_TEST_DATA, where that has been moved),
/// which holds a few of the tiny models.
std::optional<std::filesystem::path> find_golden_or_copy(std::string_view relative);

/// Path of a downloaded test model by short name: smollm2, gemma3 or qwen2.
/// Looks in $HOKKU_TEST_MODELS, then in the user's cache folder (hokku/models).
std::optional<std::filesystem::path> find_model(std::string_view short_name);

/// Prints the line by which ctest counts a test as skipped. Return from the test right after it.
void report_skip(std::string_view reason);

}  // namespace hokku::testing
