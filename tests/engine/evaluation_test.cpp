// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <stdexcept>

#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

std::vector<TokenId> counting_tokens(size_t count) {
    std::vector<TokenId> tokens(count);
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

}  // namespace

TEST_CASE("Engine: evaluate gives the logits of each wanted position", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    EvaluateRequest request;
    request.tokens = counting_tokens(150);
    request.all_positions = GENERATE(false, true);
    request.chunk_tokens = GENERATE(0u, 1u, 3u, 1000u);
    std::vector<uint32_t> positions;
    request.on_logits = [&](uint32_t index, std::span<const float> logits) {
        positions.push_back(index);
        std::vector<float> expected(fake_token::num_vocab);
        fake_logits(std::span<const TokenId>(request.tokens).first(index + 1), expected);
        REQUIRE(std::equal(logits.begin(), logits.end(), expected.begin(), expected.end()));
    };
    REQUIRE(engine->evaluate(request).ok());
    std::vector<uint32_t> expected{149};
    if (request.all_positions) {
        expected.resize(150);
        std::iota(expected.begin(), expected.end(), 0u);
    }
    CHECK(positions == expected);
    CHECK(control->num_rows == 150);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Engine: evaluate hands out inner values of the last position",
          "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    EvaluateRequest request;
    request.tokens = counting_tokens(40);
    std::vector<std::string> names;
    request.on_trace = [&](const std::string& name, std::span<const float> values) {
        names.push_back(name);
        CHECK(values[0] == 39.0f);
    };
    REQUIRE(engine->evaluate(request).ok());
    CHECK(names.empty());
    request.hidden = true;
    REQUIRE(engine->evaluate(request).ok());
    CHECK(names == std::vector<std::string>{"embed"});
    request.stages = true;
    REQUIRE(engine->evaluate(request).ok());
    CHECK(names == std::vector<std::string>{"embed", "embed", "layer0.q"});
}

TEST_CASE("Engine: evaluate refuses what cannot be", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 64;
    const auto engine = make_loaded_fake_engine(control);
    CHECK(engine->evaluate({}).error().code == ErrorCode::bad_argument);
    EvaluateRequest request;
    request.tokens = {1, -5};
    CHECK(engine->evaluate(request).error().code == ErrorCode::bad_argument);
    request.tokens = counting_tokens(65);
    CHECK(engine->evaluate(request).error().code == ErrorCode::limit_exceeded);
    request.tokens = counting_tokens(64);
    CHECK(engine->evaluate(request).ok());
    request.on_logits = [](uint32_t, std::span<const float>) { throw std::runtime_error("x"); };
    CHECK(engine->evaluate(request).error().code == ErrorCode::bad_argument);
}
