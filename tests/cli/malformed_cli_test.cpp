// SPDX-License-Identifier: Apache-2.0
// The malformed files through the commands that read a model: exit code 1, nothing on stdout, the
// cause and the file's name on stderr, within a second of processor time and 64 MB.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/malformed_check.h"
#include "support/tiny_model.h"

using hokku::testing::ChildReport;
using hokku::testing::HokkuRun;
using hokku::testing::MalformedTrial;
using hokku::testing::RefusedBy;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;

namespace {

namespace fs = std::filesystem;

std::string without_line_ends(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

/// A trial of `hokku` with these arguments, "@" standing for the file.
MalformedTrial make_trial(const std::vector<std::string>& arguments) {
    const int64_t base_kb = run_hokku({"--version"}).peak_kb;
    MalformedTrial trial;
    trial.cut_step = 8;
    trial.attempt = [arguments, base_kb](const fs::path& path) {
        std::vector<std::string> filled = arguments;
        std::replace(filled.begin(), filled.end(), std::string("@"), path.string());
        const HokkuRun run = run_hokku(filled, {.text = "text"});
        ChildReport report;
        report.is_clean = run.status == 1 && run.out.empty();
        report.ending = "status " + std::to_string(run.status) + ", stdout \"" + run.out + "\"";
        report.text = without_line_ends(run.err);
        report.cpu_seconds = run.cpu_seconds;
        report.extra_kb = run.peak_kb - base_kb;
        return report;
    };
    return trial;
}

}  // namespace

TEST_CASE("hokku inspect: every malformed file is refused", "[cli]") {
    MalformedTrial trial = make_trial({"inspect", "@"});
    trial.is_wanted = [](RefusedBy layer) { return layer == RefusedBy::reader; };
    trial.min_num_files = 300;
    check_malformed_files(trial);
}

TEST_CASE("hokku tokenize: every malformed file and vocabulary is refused", "[cli]") {
    MalformedTrial trial = make_trial({"tokenize", "-m", "@"});
    trial.is_wanted = [](RefusedBy layer) { return layer != RefusedBy::model; };
    trial.min_num_files = 400;
    check_malformed_files(trial);
}

TEST_CASE("hokku run: every malformed file, model and vocabulary is refused", "[cli]") {
    MalformedTrial trial = make_trial({"run", "-m", "@", "-p", "text", "-n", "2"});
    trial.is_wanted = [](RefusedBy) { return true; };
    trial.min_num_files = 600;
    check_malformed_files(trial);
}

TEST_CASE("hokku run: the sound tiny models answer", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "bpe.gguf");
    hokku::testing::make_tiny_llama_spm().write(folder / "spm.gguf");
    for (const char* name : {"bpe.gguf", "spm.gguf"}) {
        const HokkuRun run =
            run_hokku({"run", "-m", (folder / name).string(), "-p", "text", "-n", "2", "--json"});
        INFO(run.err);
        CHECK(run.status == 0);
        CHECK(run.out.find("\"tokens\"") != std::string::npos);
    }
}

TEST_CASE("hokku bench: a model that shrinks in use gives an error, not a crash", "[cli][model]") {
    const auto model = hokku::testing::find_model("smollm2");
    if (!model) return hokku::testing::report_skip("the model smollm2 is not downloaded");
    // On a busy machine the file may shrink while it is being opened: then once more, and later.
    bool was_in_use = false;
    for (auto delay = std::chrono::milliseconds(500); !was_in_use && delay.count() < 20'000;
         delay *= 2) {
        const ScratchFolder folder;
        fs::copy_file(*model, folder / "shrinks.gguf");
        std::thread shrinker([&] {
            std::this_thread::sleep_for(delay);
            fs::resize_file(folder / "shrinks.gguf", 0);
        });
        // Long enough not to be through before the file shrinks.
        const HokkuRun run = run_hokku({"bench", "-m", (folder / "shrinks.gguf").string(), "-p",
                                        "16", "-n", "1500", "-r", "8"});
        shrinker.join();
        INFO(run.err);
        CHECK(run.status == 1);
        was_in_use = run.err.find("can no longer be read") != std::string::npos;
    }
    CHECK(was_in_use);
}

TEST_CASE("hokku inspect: what is only no model is listed", "[cli]") {
    for (const auto& file : hokku::testing::malformed_files()) {
        if (file.refused_by == RefusedBy::reader) continue;
        const ScratchFolder folder;
        const HokkuRun run = run_hokku({"inspect", file.make(folder).string(), "--json"});
        INFO(file.id << ": " << run.err);
        CHECK(run.status == 0);
        CHECK(run.out.find('\x1b') == std::string::npos);
    }
}
