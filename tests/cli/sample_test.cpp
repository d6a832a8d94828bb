// SPDX-License-Identifier: Apache-2.0
// `hokku sample` against what llama.cpp drew: the golden cases, and random chains whose results lie
// in tests/data (written by tests/compare/llama_cpp_samplers.py).
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku::testing;
using nlohmann::json;

namespace {

std::vector<json> sample(const std::vector<json>& cases) {
    std::string lines;
    for (const json& value : cases) lines += value.dump() + "\n";
    const HokkuRun run = run_hokku({"sample", "--jsonl", "--kept"}, {.text = lines});
    REQUIRE(run.status == 0);
    CHECK(run.err.empty());
    std::vector<json> answers;
    std::istringstream stream(run.out);
    for (std::string line; std::getline(stream, line);) answers.push_back(json::parse(line));
    REQUIRE(answers.size() == cases.size());
    return answers;
}

/// A good case that a test then spoils.
json small_case() {
    return json::parse(R"({"logits": [[0, 1, 2]], "chain": [["temp", 0.8], ["dist"]], "seed": 1})");
}

std::string error_of(const json& spoilt) {
    const json answer = sample({spoilt}).front();
    INFO(answer.dump());
    REQUIRE(answer.size() == 1);
    return answer.at("error").get<std::string>();
}

}  // namespace

TEST_CASE("hokku sample: every golden chain draws what llama.cpp drew", "[cli][quick]") {
    const auto path = find_golden("sampling/visible.json");
    if (!path) return report_skip("no golden/sampling beside the checkout");
    std::ifstream stream(*path);
    const json golden = json::parse(stream);
    std::vector<json> cases;
    for (const json& entry : golden["cases"]) {
        cases.push_back({{"logits", golden["logits"]},
                         {"chain", entry["chain"]},
                         {"seed", entry["seed"]},
                         {"history", entry["history"]}});
    }
    REQUIRE(cases.size() >= 132);
    const std::vector<json> answers = sample(cases);
    for (size_t i = 0; i < cases.size(); ++i) {
        const json& entry = golden["cases"][i];
        INFO(entry["name"] << ", seed " << entry["seed"]);
        json tokens, kept;
        for (const json& step : entry["steps"]) {
            tokens.push_back(step["token"]);
            kept.push_back(step["kept"]);
        }
        CHECK(answers[i] == json{{"tokens", tokens}, {"kept", kept}});
    }
}

TEST_CASE("hokku sample: random chains draw what llama.cpp drew", "[cli][quick]") {
    std::ifstream stream(source_folder() / "tests/data/sampling/llama_cpp.jsonl");
    std::vector<json> cases;
    for (std::string line; std::getline(stream, line);) cases.push_back(json::parse(line));
    REQUIRE(cases.size() >= 100);
    const std::vector<json> answers = sample(cases);
    for (size_t i = 0; i < cases.size(); ++i) {
        INFO(cases[i]["chain"].dump() << ", line " << i + 1);
        CHECK(answers[i] == json{{"tokens", cases[i]["tokens"]}, {"kept", cases[i]["kept"]}});
    }
}

TEST_CASE("hokku sample: what is wrong with a line is said, and the next one is read",
          "[cli][quick]") {
    struct Spoilt {
        const char *key, *value, *message;
    };
    const Spoilt all[] = {
        {"logits", R"([])", "logits"},
        {"logits", R"([[1,2],[1,2,3]])", "same length"},
        {"logits", R"([["a"]])", "not a logit"},
        {"logits", R"([["-inf","-inf"]])", "minus infinity"},
        {"logits", R"([[1e300,0]])", "infinite"},
        {"chain", R"([])", "picks a token"},
        {"chain", R"([["top_k",5],["top_p",0.9,1]])", "picks a token"},
        {"chain", R"([["nonsense"],["dist"]])", "nonsense"},
        {"chain", R"([["top_k"],["dist"]])", "missing"},
        {"chain", R"([["top_k",1.5],["dist"]])", "whole"},
        {"chain", R"([["top_p",0.5,-1],["dist"]])", "whole"},
        {"chain", R"([["dist",7]])", "too many"},
        {"chain", R"([["temp","hot"],["dist"]])", "not a number"},
        {"chain", R"([["temp",1e300],["dist"]])", "temperature is inf"},
        {"chain", R"([["logit_bias",[[3,1]]],["dist"]])", "below 3"},
        {"chain", R"([["logit_bias",[[0,"-inf"],[1,"-inf"],[2,"-inf"]]],["dist"]])",
         "forbidden tokens"},
        {"chain", R"([["penalties",64,0,0,0],["dist"]])", "above 0"},
        {"chain", R"([["dist"],["top_k",1]])", "no element after"},
        {"seed", R"(-1)", "seed"},
        {"seed", R"(4294967295)", "random"},
        {"history", R"([3])", "below 3"},
        {"lookup", R"("elsewhere")", "lookup"},
    };
    for (const Spoilt& spoilt : all) {
        CAPTURE(spoilt.key, spoilt.value);
        json changed = small_case();
        changed[spoilt.key] = json::parse(spoilt.value);
        CHECK(error_of(changed).find(spoilt.message) != std::string::npos);
    }

    const HokkuRun run =
        run_hokku({"sample", "--jsonl"}, {.text = "not JSON\n" + small_case().dump() + "\n"});
    CHECK(run.status == 0);
    CHECK(run.out.find("\"error\"") == 1);
    CHECK(run.out.find("\n{\"tokens\":[") != std::string::npos);
    CHECK(run_hokku({"sample"}).status == 2);
}
