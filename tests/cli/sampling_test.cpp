// SPDX-License-Identifier: Apache-2.0
// Where the values of sampling come from: the command line, else the model, else the engine.
#include <nlohmann/json.hpp>
#include <set>

#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using hokku::testing::find_model;
using hokku::testing::HokkuRun;
using hokku::testing::make_tiny_llama;
using hokku::testing::report_skip;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
using nlohmann::json;

namespace {

/// A model whose makers recommend to take the likeliest token of all.
struct Narrow {
    Narrow() {
        make_tiny_llama()
            .set("general.sampling.top_k", int32_t{1})
            .set("general.sampling.penalty_repeat", 1.0f)
            .write(folder / "tiny.gguf");
    }
    [[nodiscard]] json tokens(const std::string& seed,
                              const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments = {
            "run",      "-m",    hokku::path_utf8(folder / "tiny.gguf"),
            "--tokens", "1,2,3", "--seed",
            seed,       "-n",    "12",
            "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        REQUIRE(run.status == 0);
        return json::parse(run.out)["tokens"];
    }
    ScratchFolder folder;
};

}  // namespace

TEST_CASE("hokku run: takes what is recommended for the model unless told otherwise",
          "[cli][quick]") {
    const Narrow model;
    const json likeliest = model.tokens("1", {"--temp", "0"});
    CHECK(model.tokens("1") == likeliest);
    CHECK(model.tokens("2") == likeliest);
    // What is given holds, and the rest is still the model's.
    CHECK(model.tokens("1", {"--temp", "5"}) == likeliest);
    const std::vector<std::string> wide = {"--temp", "5", "--top-k", "0", "--min-p", "0"};
    CHECK(model.tokens("1", wide) != likeliest);
    // These have ways of their own.
    CHECK(model.tokens("1", {"--sampler-mode", "llama.cpp", "--temp", "5", "--min-p", "0"}) !=
          likeliest);
    CHECK(model.tokens("1", {"--mirostat", "2", "--temp", "5"}) != likeliest);
}

TEST_CASE("hokku chat: takes what is recommended for the model, too", "[cli][quick]") {
    const Narrow model;
    const auto answer = [&](const std::string& seed, const std::string& temperature) {
        std::vector<std::string> arguments = {
            "chat", "-m", hokku::path_utf8(model.folder / "tiny.gguf"), "-n", "12", "--seed", seed};
        if (!temperature.empty())
            arguments.insert(arguments.end(), {"--temp", temperature, "--top-k", "0"});
        return run_hokku(arguments, {.text = "Hi\n"}).out;
    };
    CHECK_FALSE(answer("1", "").empty());
    CHECK(answer("1", "") == answer("2", ""));
    CHECK(answer("1", "5") != answer("2", "5"));
}

TEST_CASE("hokku run: the starter model keeps to the question, and its haiku differ",
          "[cli][model]") {
    const auto model = find_model("smollm2");
    if (!model) return report_skip("no model smollm2");
    const auto answer = [&](const std::string& prompt, int seed) {
        return run_hokku({"run", "-m", model->string(), "-p", prompt, "-n", "40", "--seed",
                          std::to_string(seed)})
            .out;
    };
    std::set<std::string> haiku;
    int num_colours = 0;
    for (int seed = 1; seed <= 8; ++seed) {
        haiku.insert(answer("Write a haiku about autumn rain.", seed));
        if (answer("Name three colours.", seed).find("Red") != std::string::npos) ++num_colours;
    }
    CHECK(haiku.size() == 8);
    CHECK(num_colours >= 7);
}
