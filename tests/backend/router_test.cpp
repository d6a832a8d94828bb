// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/router.h"

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.h"

using namespace hokku;

namespace {

struct Choice {
    std::vector<uint32_t> experts;
    std::vector<float> weights;
};

Choice choose(const ExpertSpec& spec, std::vector<float> logits,
              const std::vector<float>& selection_bias = {}) {
    REQUIRE(logits.size() == spec.num_experts);
    Choice choice;
    choice.experts.resize(spec.num_used);
    choice.weights.resize(spec.num_used);
    cpu::choose_experts(spec, logits.data(),
                        selection_bias.empty() ? nullptr : selection_bias.data(),
                        choice.experts.data(), choice.weights.data());
    return choice;
}

// Logits whose softmax over all is 0.1, 0.4, 0.2, 0.3.
const std::vector<float> kLogits = {std::log(1.0f), std::log(4.0f), std::log(2.0f), std::log(3.0f)};

}  // namespace

TEST_CASE("Router: the best experts by softmax, with or without renormalisation",
          "[backend][quick]") {
    ExpertSpec spec{.num_experts = 4, .num_used = 2};
    spec.renormalise = false;
    Choice choice = choose(spec, kLogits);
    CHECK(choice.experts == std::vector<uint32_t>{1, 3});
    CHECK(choice.weights[0] == Approx(0.4f));
    CHECK(choice.weights[1] == Approx(0.3f));
    spec.renormalise = true;
    spec.weight_scale = 2.0f;
    choice = choose(spec, kLogits);
    CHECK(choice.weights[0] == Approx(2 * 0.4f / 0.7f));
    CHECK(choice.weights[1] == Approx(2 * 0.3f / 0.7f));
}

TEST_CASE("Router: softmax over the chosen alone equals a renormalised softmax",
          "[backend][quick]") {
    ExpertSpec spec{.num_experts = 4, .num_used = 2, .gating = Gating::softmax_chosen};
    spec.renormalise = false;
    const Choice choice = choose(spec, kLogits);
    CHECK(choice.experts == std::vector<uint32_t>{1, 3});
    CHECK(choice.weights[0] == Approx(0.4f / 0.7f));
    CHECK(choice.weights[1] == Approx(0.3f / 0.7f));
}

TEST_CASE("Router: a selection bias changes the choice, not the weights", "[backend][quick]") {
    ExpertSpec spec{.num_experts = 4, .num_used = 2, .gating = Gating::sigmoid};
    spec.renormalise = false;
    // Sigmoids: 0.5, 0.731, 0.881, 0.269.
    const std::vector<float> logits = {0, 1, 2, -1};
    CHECK(choose(spec, logits).experts == std::vector<uint32_t>{2, 1});
    const Choice biased = choose(spec, logits, {0, 0, 0, 1});
    CHECK(biased.experts == std::vector<uint32_t>{3, 2});
    CHECK(biased.weights[0] == Approx(0.26894f).epsilon(1e-4));
    CHECK(biased.weights[1] == Approx(0.88080f).epsilon(1e-4));
}

TEST_CASE("Router: experts come from the groups with the best two scores", "[backend][quick]") {
    ExpertSpec spec{.num_experts = 6, .num_used = 2, .gating = Gating::sigmoid};
    spec.num_groups = 3;
    spec.num_groups_used = 1;
    spec.renormalise = false;
    // The best expert, 0, is in a group whose second is poor; groups count their best two.
    const std::vector<float> logits = {3, -9, 1.5, 1.4, -1, -1};
    CHECK(choose(spec, logits).experts == std::vector<uint32_t>{2, 3});
    spec.num_groups_used = 2;
    CHECK(choose(spec, logits).experts == std::vector<uint32_t>{0, 2});
    // Equal groups: the earlier ones are used.
    CHECK(choose(spec, {1, 1, 1, 1, 1, 1}).experts == std::vector<uint32_t>{0, 1});
}

TEST_CASE("Router: of equals the first wins, and the sum has a floor", "[backend][quick]") {
    ExpertSpec spec{.num_experts = 4, .num_used = 3};
    CHECK(choose(spec, {0, 0, 0, 0}).experts == std::vector<uint32_t>{0, 1, 2});
    // All chosen probabilities are 0 in float32: no division by zero.
    spec = {.num_experts = 3, .num_used = 1};
    spec.has_selection_bias = true;
    const Choice zero = choose(spec, {0, 500, 500}, {9, 0, 0});
    CHECK(zero.experts == std::vector<uint32_t>{0});
    CHECK(zero.weights[0] == 0.0f);
}

TEST_CASE("Router: scores that are not numbers still name existing experts", "[backend][quick]") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinite = std::numeric_limits<float>::infinity();
    for (const Gating gating : {Gating::softmax, Gating::sigmoid, Gating::softmax_chosen}) {
        for (const uint32_t num_groups : {1u, 2u}) {
            ExpertSpec spec{.num_experts = 4, .num_used = 2, .gating = gating};
            spec.num_groups = num_groups;
            for (const auto& logits : {std::vector<float>{nan, nan, nan, nan},
                                       std::vector<float>{nan, 1, infinite, -infinite},
                                       std::vector<float>(4, -infinite)}) {
                const Choice choice = choose(spec, logits);
                CHECK(choice.experts[0] < 4);
                CHECK(choice.experts[1] < 4);
                CHECK(choice.experts[0] != choice.experts[1]);
            }
        }
    }
}
