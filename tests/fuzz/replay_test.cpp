// SPDX-License-Identifier: Apache-2.0
// Every input of tests/fuzz/corpus through the fuzz target that it belongs to: seeds, and what once
// was found.
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/seeds.h"
#include "support/catch.h"
#include "support/child_process.h"
#include "support/golden.h"
#include "support/scratch_folder.h"
#include "support/time_limits.h"

// Each target is compiled under a name of its own (CMakeLists.txt).
#define HOKKU_FUZZ_TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t size);
HOKKU_FUZZ_TARGET(gguf)
HOKKU_FUZZ_TARGET(jinja)
HOKKU_FUZZ_TARGET(gbnf)
HOKKU_FUZZ_TARGET(json_schema)
HOKKU_FUZZ_TARGET(regex)
HOKKU_FUZZ_TARGET(tokenizer)
HOKKU_FUZZ_TARGET(kv_file)

namespace {

namespace fs = std::filesystem;
using hokku::testing::ChildReport;

using Target = int (*)(const uint8_t* data, size_t size);

void run(Target target, const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

/// The number of inputs in a folder, none where there is no such folder.
size_t replay_folder(Target target, const fs::path& folder) {
    constexpr double kMaxSeconds = 2 * hokku::testing::kTimeFactor;
    constexpr int64_t kMaxExtraKb = 256 * 1024;
    if (!fs::is_directory(folder)) return 0;
    size_t num_files = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        INFO(folder.filename().string() << "/" << entry.path().filename().string());
        ++num_files;
        const auto attempt = [&] {
            return hokku::testing::run_in_child([&] {
                run(target, entry.path());
                return std::string();
            });
        };
        ChildReport report = attempt();
        // Once more: on a busy machine memory is slower.
        if (report.cpu_seconds > kMaxSeconds) report = attempt();
        INFO(report.ending);
        CHECK(report.is_clean);
        CHECK(report.cpu_seconds <= kMaxSeconds);
        if (hokku::testing::measures_memory()) CHECK(report.extra_kb <= kMaxExtraKb);
    }
    return num_files;
}

void replay(const std::string& name, Target target) {
    // Nothing is an input too; and what a target makes once is made before the children.
    target(nullptr, 0);
    const fs::path corpus = hokku::testing::source_folder() / "tests" / "fuzz" / "corpus";
    size_t num_files = replay_folder(target, corpus / name);
    const hokku::testing::ScratchFolder seeds;
    hokku::testing::write_seeds(seeds.path(), false);
    num_files += replay_folder(target, seeds / name);
    CHECK(num_files >= 4);
}

}  // namespace

TEST_CASE("fuzz corpus: model files", "[fuzz][quick]") {
    replay("gguf", fuzz_gguf);
}

TEST_CASE("fuzz corpus: chat templates", "[fuzz][quick]") {
    replay("jinja", fuzz_jinja);
}

TEST_CASE("fuzz corpus: grammars", "[fuzz][quick]") {
    replay("gbnf", fuzz_gbnf);
}

TEST_CASE("fuzz corpus: JSON schemas", "[fuzz][quick]") {
    replay("json_schema", fuzz_json_schema);
}

TEST_CASE("fuzz corpus: regular expressions", "[fuzz][quick]") {
    replay("regex", fuzz_regex);
}

TEST_CASE("fuzz corpus: texts to tokenize", "[fuzz][quick]") {
    replay("tokenizer", fuzz_tokenizer);
}

TEST_CASE("fuzz corpus: saved contexts", "[fuzz][quick]") {
    replay("kv_file", fuzz_kv_file);
}
