// SPDX-License-Identifier: Apache-2.0
// The forward pass on tiny models quantised to every weight type, against transformers on the same
// weights dequantised by gguf-py.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/golden_cases.h"
#include "support/model_runner.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

TEST_CASE("Forward: exact mode gives the reference logits for every weight type",
          "[backend][quick]") {
    const auto folder = find_golden_or_copy("quants/models");
    if (!folder) return report_skip("golden/quants/models is not there");
    size_t num_models = 0;
    for (const auto& entry : fs::directory_iterator(*folder)) {
        const std::string name = entry.path().filename().string();
        INFO("model " << name);
        const auto runner = open_or_fail(entry.path() / "model.gguf");
        const auto cases = read_golden_cases(entry.path() / "visible.json");
        REQUIRE_FALSE(cases.empty());
        for (const GoldenCase& golden : cases) {
            const auto logits = value_of(runner->evaluate(golden.tokens, 64));
            const size_t num_vocab = runner->num_vocab(), count = golden.tokens.size();
            for (size_t i = 0; i < count; ++i)
                CHECK(argmax(row_of(logits, i, num_vocab)) == golden.argmax[i]);
            // golden/quants/README.md: the same weights in float32 agree to 1e-4 and better.
            CHECK(max_difference(row_of(logits, count - 1, num_vocab), golden.logits_last) <=
                  5e-4f);
            CHECK(value_of(runner->greedy(golden.tokens, golden.greedy.size())) == golden.greedy);
        }
        ++num_models;
    }
    // One is copied to tests/data, so that a plain clone compares too.
    CHECK(num_models >= (find_golden("quants/models") ? 73 : 1));
}

TEST_CASE("Forward: the machine's best kernels are as close to the reference as a peer's",
          "[backend][quick]") {
    const auto folder = find_golden_or_copy("quants/models");
    const auto peer_file = find_golden_or_copy("quants/models.json");
    if (!folder || !peer_file) return report_skip("golden/quants/models is not there");
    const auto peers = read_golden_peer_differences(*peer_file);
    for (const auto& entry : fs::directory_iterator(*folder)) {
        const std::string name = entry.path().filename().string();
        INFO("model " << name);
        REQUIRE(peers.count(name) == 1);
        // llama.cpp rounds activations to 8 bits too; the largest of some hundred differences
        // varies by chance, hence half as much again.
        const float limit = 1.5f * peers.at(name) + 1e-4f;
        const auto runner = open_or_fail(entry.path() / "model.gguf", {.exact = false});
        for (const GoldenCase& golden : read_golden_cases(entry.path() / "visible.json")) {
            const size_t last = golden.tokens.size() - 1;
            for (const uint32_t chunk : {1u, 64u}) {
                const auto logits = value_of(runner->evaluate(golden.tokens, chunk));
                CHECK(max_difference(row_of(logits, last, runner->num_vocab()),
                                     golden.logits_last) <= limit);
            }
        }
    }
}
