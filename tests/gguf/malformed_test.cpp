// SPDX-License-Identifier: Apache-2.0
// Every malformed file through open(), in both ways of reading, and through inspect: refused with
// the cause, without a crash, within a second and 64 MB.
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "gguf/gguf_file.h"
#include "hokku/model_file.h"
#include "support/catch.h"
#include "support/child_process.h"
#include "support/malformed_files.h"

using hokku::GgufFile;
using hokku::inspect_model_file;
using hokku::testing::ChildReport;
using hokku::testing::malformed_files;
using hokku::testing::MalformedFile;
using hokku::testing::measures_memory;
using hokku::testing::RefusedBy;
using hokku::testing::run_in_child;
using hokku::testing::ScratchFolder;

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxExtraKb = 64 * 1024;
constexpr double kMaxSeconds = 1.0;

bool names_a_cause(const std::string& message, const MalformedFile& file) {
    return std::any_of(file.causes.begin(), file.causes.end(), [&](const std::string& cause) {
        return message.find(cause) != std::string::npos;
    });
}

/// Runs every file that the reader must refuse through `message_of`.
void check_all(const std::function<std::string(const fs::path&)>& message_of) {
    int64_t most_kb = 0;
    double most_seconds = 0;
    size_t num_files = 0;
    for (const MalformedFile& file : malformed_files()) {
        if (file.refused_by != RefusedBy::reader) continue;
        ++num_files;
        const ScratchFolder folder;
        const fs::path path = file.make(folder);
        const ChildReport report = run_in_child([&] { return message_of(path); });
        INFO(file.id << ": " << report.ending << ", message: " << report.text);
        CHECK(report.is_clean);
        CHECK(names_a_cause(report.text, file));
        // A set's error may name another of its files.
        const std::string id = file.id.substr(0, file.id.find("-of-"));
        CHECK((report.text.find(path.filename().string()) != std::string::npos ||
               report.text.find(id) != std::string::npos));
        CHECK(report.seconds <= kMaxSeconds);
        if (measures_memory()) CHECK(report.extra_kb <= kMaxExtraKb);
        most_kb = std::max(most_kb, report.extra_kb);
        most_seconds = std::max(most_seconds, report.seconds);
    }
    CHECK(num_files >= 150);
    WARN(num_files << " files, at most " << most_kb << " kB and " << most_seconds << " s each");
}

}  // namespace

TEST_CASE("GgufFile: every malformed file is refused with its cause, mapped", "[gguf][quick]") {
    check_all([](const fs::path& path) {
        const auto opened = GgufFile::open(path);
        return opened.ok() ? "opened" : opened.error().message();
    });
}

TEST_CASE("GgufFile: every malformed file is refused with its cause, read", "[gguf]") {
    check_all([](const fs::path& path) {
        const auto opened = GgufFile::open(path, {.use_mapping = false});
        return opened.ok() ? "opened" : opened.error().message();
    });
}

TEST_CASE("inspect_model_file: every malformed file is refused with its cause", "[gguf]") {
    check_all([](const fs::path& path) {
        const auto inspected = inspect_model_file(path);
        return inspected.ok() ? "opened" : inspected.error().message();
    });
}

TEST_CASE("malformed files: each has an id of its own", "[gguf][quick]") {
    std::set<std::string> ids;
    for (const MalformedFile& file : malformed_files()) {
        INFO(file.id);
        CHECK(ids.insert(file.id).second);
        CHECK_FALSE(file.causes.empty());
    }
}

TEST_CASE("GgufFile: files that only the model layer refuses open", "[gguf][quick]") {
    for (const MalformedFile& file : malformed_files()) {
        if (file.refused_by == RefusedBy::reader) continue;
        const ScratchFolder folder;
        const auto opened = GgufFile::open(file.make(folder));
        INFO(file.id << ": " << (opened.ok() ? "" : opened.error().message()));
        CHECK(opened.ok());
    }
}
