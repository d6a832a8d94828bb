// SPDX-License-Identifier: Apache-2.0
// The rules of docs/architecture.md that can be read off the source files.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = HOKKU_SOURCE_DIR;

struct SourceFile {
    fs::path path;  ///< From the root of the checkout.
    std::vector<std::string> lines;
};

std::vector<SourceFile> source_files(const std::set<std::string>& folders) {
    std::vector<SourceFile> files;
    for (const std::string& folder : folders) {
        if (!fs::exists(kRoot / folder)) continue;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
            SourceFile file{fs::relative(entry.path(), kRoot), {}};
            std::ifstream stream(entry.path());
            for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
            files.push_back(std::move(file));
        }
    }
    return files;
}

/// What a line includes: `gguf/gguf_file.h`, `vector`; empty for other lines.
std::string included_by(const std::string& line) {
    if (!line.starts_with("#include ")) return "";
    const size_t first = line.find_first_of("\"<");
    const size_t last = line.find_first_of("\">", first + 1);
    if (first == std::string::npos || last == std::string::npos) return "";
    return line.substr(first + 1, last - first - 1);
}

}  // namespace

TEST_CASE("Source tree: layers include only themselves and those below", "[architecture][quick]") {
    const std::map<std::string, std::set<std::string>> allowed = {
        {"include", {"hokku"}},
        {"base", {"hokku", "base"}},
        {"gguf", {"hokku", "base", "gguf"}},
        {"text", {"hokku", "base", "gguf", "text"}},
        {"model", {"hokku", "base", "gguf", "model"}},
        {"kv", {"hokku", "base", "kv"}},
        {"sampling", {"hokku", "base", "sampling"}},
        {"backend", {"hokku", "base", "gguf", "model", "kv", "backend"}},
        {"engine",
         {"hokku", "base", "gguf", "text", "model", "backend", "kv", "sampling", "engine"}}};
    size_t num_files = 0;
    for (const SourceFile& file : source_files({"core"})) {
        const std::string layer = std::next(file.path.begin())->string();
        INFO(file.path);
        REQUIRE(allowed.count(layer) == 1);
        ++num_files;
        for (const std::string& line : file.lines) {
            const std::string included = included_by(line);
            const std::string folder = included.substr(0, included.find('/'));
            // Third parties' headers have folders of their own (fmt/, nlohmann/, sys/).
            if (allowed.count(folder) == 0 && folder != "hokku") continue;
            INFO(line);
            CHECK(allowed.at(layer).count(folder) == 1);
        }
    }
    CHECK(num_files > 50);
}

TEST_CASE("Source tree: the core knows neither Qt nor CUDA, and does not print",
          "[architecture][quick]") {
    for (const SourceFile& file : source_files({"core"})) {
        for (const std::string& line : file.lines) {
            const std::string included = included_by(line);
            INFO(file.path << ": " << line);
            CHECK(!included.starts_with("Q"));
            CHECK(!included.starts_with("cuda"));
            CHECK(included != "iostream");
            CHECK(line.find("printf(std") == std::string::npos);
            CHECK(line.find(" printf(") == std::string::npos);
            CHECK(line.find("fprintf(") == std::string::npos);
            CHECK(line.find("abort()") == std::string::npos);
        }
    }
}

TEST_CASE("Source tree: apps include only public headers of the engine library",
          "[architecture][quick]") {
    for (const SourceFile& file : source_files({"app"})) {
        for (const std::string& line : file.lines) {
            const std::string included = included_by(line);
            const std::string folder = included.substr(0, included.find('/'));
            INFO(file.path << ": " << line);
            for (const char* layer :
                 {"base", "gguf", "text", "model", "kv", "sampling", "backend", "engine"}) {
                CHECK((folder != layer || folder == included));
            }
        }
    }
}

TEST_CASE("Source tree: every file carries its licence line and stays below 800 lines",
          "[architecture][quick]") {
    for (const SourceFile& file : source_files({"app", "core", "cuda", "tests"})) {
        INFO(file.path);
        REQUIRE(!file.lines.empty());
        CHECK(file.lines.front() == "// SPDX-License-Identifier: Apache-2.0");
        CHECK(file.lines.size() <= 800);
        const bool is_header = file.path.extension() == ".h";
        bool has_pragma = false;
        for (const std::string& line : file.lines) has_pragma |= line == "#pragma once";
        CHECK(has_pragma == is_header);
    }
}
