// SPDX-License-Identifier: Apache-2.0
// The forward pass against tiny random models of every declared architecture, whose figures come
// from transformers in float32 (tolerances in golden/arch/tolerance.json).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/arch/declaration.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/golden_cases.h"
#include "support/model_runner.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

/// Golden folders whose architecture is declared.
const std::vector<std::string> kFolders = {
    "llama",
    "llama_tied_hd",
    "llama_bias",
    "llama31",
    "llama_linear",
    "llama_yarn",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_tied",
    "qwen2_yarn",
    "qwen2moe",
    "qwen3",
    "qwen3moe",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_w16",
    "phi3",
    "phi3_longrope_short",
    "phi3_longrope_long",
    "granite",
    "granitemoe",
    "olmo2",
    "olmo3",
    "olmoe",
    "mistral3",
    "phi2",
    "gptoss",
    "glm4",
    "glm4moe",
    "cohere",
    "cohere2",
    "ernie45",
    "ernie45moe",
    "exaone4",
    "exaone4_full",
    "seed_oss",
    "hunyuan",
    "apertus",
    "arcee",
    "nemotron",
    "starcoder2",
    "stablelm",
    "stablelm_par",
    "gptneox",
    "gptneox_seq",
    "gpt2",
    "smollm3",
};

float tolerance_of(const std::string& name) {
    return read_golden_tolerance(*find_golden_or_copy("arch/tolerance.json"), name);
}

}  // namespace

namespace {

void check_models(bool exact) {
    size_t num_models = 0;
    for (const std::string& name : kFolders) {
        INFO("model " << name);
        const auto folder = find_golden_or_copy("arch/" + name);
        if (!folder) continue;
        ++num_models;
        const float tolerance = tolerance_of(name);
        const auto runner = open_or_fail(*folder / "model.gguf", {.exact = exact});
        const size_t num_vocab = runner->num_vocab();
        const auto cases = read_golden_cases(*folder / "visible.json");
        REQUIRE(cases.size() == 3);
        for (const GoldenCase& golden : cases) {
            INFO(golden.tokens.size() << " tokens");
            const std::vector<float> logits = value_of(runner->evaluate(golden.tokens, 64));
            REQUIRE(logits.size() == golden.tokens.size() * num_vocab);
            for (size_t i = 0; i < golden.tokens.size(); ++i)
                CHECK(argmax(row_of(logits, i, num_vocab)) == golden.argmax[i]);

            const auto last = row_of(logits, golden.tokens.size() - 1, num_vocab);
            CHECK(max_difference(last, golden.logits_last) <= tolerance);
            CHECK(value_of(runner->greedy(golden.tokens, golden.greedy.size())) == golden.greedy);
        }
    }
    // Some are copied to tests/data, so that a plain clone compares too.
    CHECK(num_models >= 2);
}

}  // namespace

TEST_CASE("Forward: tiny models of each architecture give the reference logits and greedy text",
          "[backend][quick]") {
    check_models(true);
}

TEST_CASE("Forward: the machine's best kernels agree on tiny models of float32 weights",
          "[backend][quick]") {
    check_models(false);
}

TEST_CASE("Model: every golden architecture either runs or is refused by name",
          "[backend][quick]") {
    const auto folder = find_golden("arch");
    if (!folder) return report_skip("golden/arch is not there");
    size_t num_declared = 0;
    for (const auto& entry : fs::directory_iterator(*folder)) {
        if (!fs::exists(entry.path() / "model.gguf")) continue;
        const std::string name = entry.path().filename().string();
        INFO("model " << name);
        const auto runner = ModelRunner::open(entry.path() / "model.gguf", {});
        const bool is_declared = std::count(kFolders.begin(), kFolders.end(), name) == 1;
        CHECK(runner.ok() == is_declared);
        num_declared += is_declared ? 1 : 0;
        if (runner.ok()) continue;
        CHECK(runner.error().code == ErrorCode::unsupported);
        const std::string message = runner.error().message();
        CHECK(message.find("architecture") != std::string::npos);
        CHECK(message.find("qwen3moe") != std::string::npos);  // what is supported is listed
    }
    CHECK(num_declared == kFolders.size());
}

TEST_CASE("Forward: the residual stream agrees with the reference after every layer",
          "[backend][quick]") {
    size_t num_models = 0;
    for (const std::string& name : kFolders) {
        INFO("model " << name);
        const auto folder = find_golden_or_copy("arch/" + name);
        if (!folder) continue;
        ++num_models;
        const GoldenHidden golden = read_golden_hidden(*folder / "hidden.json");
        const float tolerance = tolerance_of(name);
        const auto runner = open_or_fail(*folder / "model.gguf");
        std::map<std::string, std::vector<float>> seen;
        StepTrace trace{.on_values = [&](const std::string& stage, std::span<const float> values) {
            seen[stage].assign(values.begin(), values.end());
        }};
        value_of(runner->append(golden.tokens, &trace));
        REQUIRE(golden.values.size() == runner->model().spec().num_layers + 2);
        for (const NamedValues& expected : golden.values) {
            INFO(expected.name);
            REQUIRE(seen.count(expected.name) == 1);
            CHECK(max_difference(seen[expected.name], expected.values) <= tolerance);
        }
    }
    // Some are copied to tests/data, so that a plain clone compares too.
    CHECK(num_models >= 2);
}
