// SPDX-License-Identifier: Apache-2.0
// Every malformed file through open(), in both ways of reading, and through inspect: refused with
// the cause, without a crash, within a second and 64 MB.
#include <set>
#include <string>

#include "gguf/gguf_file.h"
#include "hokku/model_file.h"
#include "support/catch.h"
#include "support/malformed_check.h"
#include "support/malformed_files.h"

using hokku::GgufFile;
using hokku::inspect_model_file;
using hokku::testing::check_malformed_files;
using hokku::testing::in_child;
using hokku::testing::malformed_files;
using hokku::testing::MalformedFile;
using hokku::testing::RefusedBy;
using hokku::testing::ScratchFolder;

namespace {

namespace fs = std::filesystem;

/// Starting a child is slow in a process with a sanitizer.
const size_t kCutStep = hokku::testing::measures_memory() ? 1 : 4;

bool is_for_reader(RefusedBy layer) {
    return layer == RefusedBy::reader;
}

}  // namespace

TEST_CASE("GgufFile: every malformed file is refused with its cause, mapped", "[gguf][quick]") {
    check_malformed_files({.is_wanted = is_for_reader,
                           .min_num_files = 390,
                           .cut_step = kCutStep,
                           .attempt = in_child([](const fs::path& path) {
                               const auto opened = GgufFile::open(path);
                               return opened.ok() ? "opened" : opened.error().message();
                           })});
}

TEST_CASE("GgufFile: every malformed file is refused with its cause, read", "[gguf]") {
    check_malformed_files({.is_wanted = is_for_reader,
                           .min_num_files = 390,
                           .cut_step = kCutStep,
                           .attempt = in_child([](const fs::path& path) {
                               const auto opened = GgufFile::open(path, {.use_mapping = false});
                               return opened.ok() ? "opened" : opened.error().message();
                           })});
}

TEST_CASE("inspect_model_file: every malformed file is refused with its cause", "[gguf]") {
    check_malformed_files({.is_wanted = is_for_reader,
                           .min_num_files = 390,
                           .cut_step = kCutStep,
                           .attempt = in_child([](const fs::path& path) {
                               const auto inspected = inspect_model_file(path);
                               return inspected.ok() ? "opened" : inspected.error().message();
                           })});
}

TEST_CASE("malformed files: each has an id of its own", "[gguf][quick]") {
    std::set<std::string> ids;
    size_t num_cut = 0;
    for (const MalformedFile& file : malformed_files()) {
        INFO(file.id);
        CHECK(ids.insert(file.id).second);
        CHECK_FALSE(file.causes.empty());
        if (file.id.starts_with("A9-cut-at-")) ++num_cut;
    }
    WARN(ids.size() << " files, " << num_cut << " of them one header cut at each byte");
    // So many there must be besides those that differ in their length alone.
    CHECK(ids.size() - num_cut >= 500);
    CHECK(num_cut >= 500);
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
