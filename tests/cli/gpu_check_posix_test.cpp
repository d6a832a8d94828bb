// SPDX-License-Identifier: Apache-2.0
// What tests/gpu/check.sh says of its parts: on a machine whose programs, card and libraries are
// scripts of the test.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

std::string read_text(const fs::path& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Two GPUs, every library, programs that work.
struct Machine {
    ScratchFolder folder;

    Machine() {
        for (const char* part : {"build/bin", "build/cuda/kernels", "path"})
            fs::create_directories(folder / part);
        std::ofstream(folder / "build/cuda/kernels/a.fatbin") << "image";
        for (const char* name : {"test_cuda", "test_cuda_backend"}) write(name, "exit 0");
        write("make_synthetic_model", ": > \"$2\"");
        write("measure_device", "echo '{\"copy_gb_s\": 1000, \"kernels\": []}'");
        set_bench("");
        write("ldconfig", "echo libcublas.so.13 libnccl.so.2", "path");
        write("compute-sanitizer", "echo \"$@\"", "path");
        set_gpus("GPU 0\\nGPU 1\\n");
    }
    /// For bash: sh may drop the functions that the script exports.
    void write(const std::string& name, const std::string& body,
               const std::string& place = "build/bin") const {
        const fs::path file = folder / (place + "/" + name);
        std::ofstream(file) << "#!/bin/bash\n" << body << "\n";
        fs::permissions(file, fs::perms::owner_all);
    }
    /// Figures once the clocks have been sampled, and before that these lines.
    void set_bench(const std::string& lines) const {
        write("hokku",
              "[ \"$1\" = bench ] || exit 0\n" + lines +
                  "\nfor i in $(seq 500); do\n"
                  "  [ \"$(wc -l < \"$out/clocks.csv\")\" -ge 4 ] && break; sleep 0.01\n"
                  "done\n"
                  "tokens='a graph for a token' prompts='by int8 kernels, flash attention'\n"
                  "[ -z \"${HOKKU_CUDA_PERSISTENT:-}\" ] || tokens='one launch for a token'\n"
                  "[ -z \"${HOKKU_CUDA_PREFILL:-}\" ] || prompts='by cuBLAS as reference'\n"
                  "case ${HOKKU_CUDA_ALL_REDUCE:-} in nccl) prompts+=', NCCL' ;;"
                  " ?*) prompts+=', one-shot all-reduce' ;; esac\n"
                  "echo '{\"decode_tok_s\": 100, \"bytes_per_token\": 5000000000,"
                  " \"prefill_tok_s\": 3000, \"device\": \"'\"${device:-GPU card}\"'\","
                  " \"kernels\": \"cuda sm_90, '\"$tokens, prompts $prompts\"'\"}'");
    }
    /// Idle, then busy at three clocks.
    void set_gpus(const std::string& list) const {
        write("nvidia-smi",
              "case \"$*\" in\n-L) printf '" + list +
                  "' ;;\n"
                  "*loop-ms*) printf '0, 210, 9, 9, 9\\n90, 1500, 9, 9, 9\\n"
                  "99, 1980, 9, 9, 9\\n99, 1700, 9, 9, 9\\n'; exec sleep 50 ;;\n"
                  "*) echo a card ;;\nesac",
              "path");
    }
    [[nodiscard]] HokkuRun run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(),
                         {"PATH=" + (folder / "path").string() + ":/usr/bin:/bin", "bash",
                          (hokku::testing::source_folder() / "tests/gpu/check.sh").string()});
        return run_hokku(arguments, {.program = "/usr/bin/env"});
    }
    [[nodiscard]] HokkuRun check(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments = {"--build", (folder / "build").string(), "--out",
                                              (folder / "out").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    }
    [[nodiscard]] nlohmann::json report() const {
        return nlohmann::json::parse(read_text(folder / "out/check.json"));
    }
    /// By part, "OUTCOME (NOTE)"; of the text and of the JSON.
    [[nodiscard]] std::map<std::string, std::string> outcomes() const {
        std::map<std::string, std::string> parts, same;
        std::istringstream lines(read_text(folder / "out/results.txt"));
        for (std::string name, seconds, outcome;
             lines >> name >> seconds && std::getline(lines >> std::ws, outcome);)
            parts[name] = outcome;
        const nlohmann::json json = report();
        for (const auto& part : json.at("parts")) {
            const std::string note = part.at("note");
            same[part.at("name")] =
                part.at("outcome").get<std::string>() + (note.empty() ? "" : " (" + note + ")");
        }
        CHECK(parts == same);
        return parts;
    }
};

using Outcomes = std::map<std::string, std::string>;
const Outcomes kAllPassed = {
    {"primitives", "passed"}, {"cublas", "passed"}, {"kernels", "passed"}, {"models", "passed"},
    {"sanitizer", "passed"},  {"device", "passed"}, {"speed", "passed"},   {"ranks", "passed"}};

}  // namespace

TEST_CASE("GPU check: all parts pass, in under five minutes together", "[cli][quick]") {
    const Machine machine;
    const HokkuRun run = machine.check();
    INFO(run.out << run.err);
    CHECK(run.status == 0);
    CHECK(machine.outcomes() == kAllPassed);
    const nlohmann::json report = machine.report();
    CHECK(report.at("clocks") ==
          nlohmann::json{{"samples", 3}, {"sm_mhz_min", 1500}, {"sm_mhz_max", 1980}});
    CHECK(run.out.find("SM clock 1500 to 1980 MHz") != std::string::npos);
    CHECK(report.at("speed").size() == 7);
    CHECK(report.at("speed").at("llama-3.1-8b").at("share_of_copy") == 0.5);
    CHECK(report.at("speed").at("llama-3.1-8b").at("prefill_of_cublas") == 1);
    int sum = 0;
    const std::string limit = ", at most ";
    for (size_t at = run.out.find(limit); at != std::string::npos; at = run.out.find(limit, at + 1))
        sum += std::atoi(run.out.c_str() + at + limit.size());
    CHECK(sum > 100);
    CHECK(sum <= 290);
}

TEST_CASE("GPU check: the sanitizer gets test cases that there are", "[cli][quick]") {
    const Machine machine;
    CHECK(machine.check().status == 0);
    const std::string log = read_text(machine.folder / "out/sanitizer.log");
    CHECK(log.find("--tool memcheck ") != std::string::npos);
    CHECK(log.find("--tool racecheck ") != std::string::npos);
    const std::string tests =
        read_text(hokku::testing::source_folder() / "tests/cuda/backend_test.cpp");
    const std::string prefix = "CUDA backend: ";
    size_t num_cases = 0;
    for (size_t at = log.find(prefix); at != std::string::npos; at = log.find(prefix, at + 1)) {
        const size_t begin = at + prefix.size();
        // The types of models are arguments of a macro.
        std::string name = log.substr(begin, log.find('*', begin) - begin);
        if (name.ends_with(" is")) name = "HOKKU_QUANTS_TEST(\"" + name.substr(0, name.size() - 3);
        INFO(name);
        CHECK(tests.find(name) != std::string::npos);
        ++num_cases;
    }
    CHECK(num_cases == 8);
}

TEST_CASE("GPU check: what passed, was skipped, failed and timed out is told apart",
          "[cli][quick]") {
    const Machine machine;
    machine.write("test_cuda", "case \"$*\" in Primitives*) sleep 50 ;; esac; exit 3");
    machine.write("test_cuda_backend", "echo hokku-skip: a; echo b; echo hokku-skip: c");
    machine.write("ldconfig", ":", "path");
    machine.set_gpus("GPU 0\\n");
    fs::remove(machine.folder / "path/compute-sanitizer");
    // The part that hangs is not waited for so long here.
    machine.write("timeout",
                  "case \"$*\" in *Primitives*' '*) ;; *Primitives*) shift 2; set -- -k1 0.2 \"$@\""
                  " ;; esac\nexec /usr/bin/timeout \"$@\"",
                  "path");
    // Figures of an earlier run do not stand in.
    fs::create_directories(machine.folder / "out");
    std::ofstream(machine.folder / "out/llama-3.1-8b-cublas.json") << "{\"prefill_tok_s\": 1}";
    std::ofstream(machine.folder / "out/device.json") << "{\"copy_gb_s\": 1, \"kernels\": []}";
    const HokkuRun run = machine.check({"--skip", "device"});
    INFO(run.out << run.err);
    CHECK(run.status == 1);
    Outcomes outcomes = machine.outcomes();
    // It cannot be hidden where the system has it.
    if (fs::exists("/usr/bin/compute-sanitizer"))
        outcomes["sanitizer"] = "skipped (compute-sanitizer is not installed)";
    CHECK(outcomes == Outcomes{{"primitives", "timed-out"},
                               {"cublas", "skipped (cuBLAS is not installed)"},
                               {"kernels", "failed"},
                               {"models", "passed (checks skipped: 2)"},
                               {"sanitizer", "skipped (compute-sanitizer is not installed)"},
                               {"device", "skipped (--skip)"},
                               {"speed", "passed (checks skipped: 3)"},
                               {"ranks", "skipped (one GPU: nothing is split)"}});
    CHECK(machine.report().at("device").is_null());
    CHECK_FALSE(fs::exists(machine.folder / "out/llama-3.1-8b-cublas.json"));
    CHECK(machine.report().at("speed").at("llama-3.1-8b").at("prefill_of_cublas") == 0);
}

TEST_CASE("GPU check: a figure that is missing fails its part, the others are measured",
          "[cli][quick]") {
    const Machine machine;
    Outcomes expected = kAllPassed;
    expected["speed"] = expected["ranks"] = "failed";
    for (const char* setting : {"CUDA_PREFILL:+cublas", "CUDA_PERSISTENT:+1"}) {
        INFO(setting);
        machine.set_bench("[ -z \"${HOKKU_" + std::string(setting) + "}\" ] || exit 1\n" +
                          "[ \"${HOKKU_CUDA_ALL_REDUCE:-}\" != one_shot ] || exit 1");
        const HokkuRun run = machine.check();
        CHECK(run.status == 1);
        CHECK(machine.outcomes() == expected);
        const nlohmann::json speed = machine.report().at("speed");
        const bool has_cublas = speed.at("qwen2.5-0.5b").at("prefill_of_cublas") == 1;
        CHECK(has_cublas == (std::string(setting) != "CUDA_PREFILL:+cublas"));
        CHECK(speed.contains("qwen2.5-0.5b-persistent") != has_cublas);
        CHECK(speed.contains("llama-3.1-8b"));
        CHECK(speed.contains("llama-3.2-1b-nccl"));
        CHECK_FALSE(speed.contains("llama-3.2-1b-one_shot"));
    }
    // What two GPUs cannot do is no failure.
    machine.set_bench(
        "[ \"${HOKKU_CUDA_ALL_REDUCE:-}\" != one_shot ] ||"
        " { echo \"error: GPUs do not reach each other's memory\" >&2; exit 1; }");
    CHECK(machine.check().status == 0);
    CHECK(machine.outcomes().at("ranks") == "passed (checks skipped: 1)");
}

TEST_CASE("GPU check: figures of other kernels or the CPU are none", "[cli][quick]") {
    const Machine machine;
    const std::pair<const char*, const char*> all[] = {
        {"unset HOKKU_CUDA_PERSISTENT", "qwen2.5-0.5b-persistent"},
        {"[ -n \"${HOKKU_CUDA_PREFILL:-}\" ] || HOKKU_CUDA_PREFILL=cublas", "llama-3.1-8b"},
        {"[ \"${HOKKU_CUDA_ALL_REDUCE:-}\" != one_shot ] || HOKKU_CUDA_ALL_REDUCE=nccl",
         "llama-3.2-1b-one_shot"},
        {"device='GPU card, 3 of 4 layers; the others on CPU avx2'", "llama-3.2-1b-nccl"},
        {"device='CPU avx2'", "llama-3.1-8b"}};
    for (const auto& [lines, lost] : all) {
        INFO(lines);
        machine.set_bench(lines);
        const HokkuRun run = machine.check();
        CHECK(run.status == 1);
        CHECK(run.out.find("wanted are GPUs and ") != std::string::npos);
        CHECK_FALSE(machine.report().at("speed").contains(lost));
    }
}

TEST_CASE("GPU check: tests that are not there have not passed", "[cli][quick]") {
    const Machine machine;
    machine.write("test_cuda", "echo \"No test cases matched '$1'\"");
    CHECK(machine.check().status == 1);
    CHECK(machine.outcomes().at("primitives") == "failed");
    CHECK(machine.outcomes().at("models") == "passed");
}

TEST_CASE("GPU check: options that are wrong are wrong usage", "[cli][quick]") {
    const Machine machine;
    const std::vector<std::vector<std::string>> all = {
        {"--build"},         {"--out"},     {"--skip"}, {"--pack"}, {"--skip", "nothing"},
        {"--build", "/dev"}, {"--out", ""}, {"--fast"}, {"speed"}};
    for (const std::vector<std::string>& arguments : all) {
        INFO(arguments.front());
        const HokkuRun run = machine.run(arguments);
        CHECK(run.status == 2);
        CHECK(run.err.find("tests/gpu/check.sh --pack FILE [--build FOLDER]") != std::string::npos);
        CHECK(run.out.empty());
    }
}
