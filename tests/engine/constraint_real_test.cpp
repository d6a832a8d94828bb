// SPDX-License-Identifier: Apache-2.0
// What constraints cost with a vocabulary of 150,000 tokens.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hokku/engine.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

namespace {

std::unique_ptr<Engine> load_qwen2() {
    const auto path = find_model("qwen2");
    if (!path) {
        report_skip("the model is not there: qwen2");
        return nullptr;
    }
    auto engine = Engine::create().value();
    LoadOptions options;
    options.path = *path;
    options.context_tokens = 1024;
    const auto loaded = engine->load(options);
    if (!loaded.ok()) FAIL(loaded.error().message());
    return engine;
}

GenerationRequest request_for(std::vector<ConstraintSpec> constraints) {
    GenerationRequest request;
    request.messages = {{"user", "Describe three cities as JSON, each with name and country."}};
    request.sampling.temperature = 0;
    request.constraints = std::move(constraints);
    request.prompt_lookup = false;
    request.max_tokens = 120;
    return request;
}

/// Between one token and the next; the median.
double token_ms(Engine& engine, const GenerationRequest& request) {
    std::vector<Clock::time_point> times;
    times.reserve(request.max_tokens);
    GenerationEvents events;
    events.on_token = [&](const TokenLogprob&) { times.push_back(Clock::now()); };
    const GenerationResult result = engine.generate(request, events).wait();
    if (result.error) FAIL(result.error->message());
    REQUIRE(times.size() >= 40);
    std::vector<double> gaps;
    for (size_t i = 1; i < times.size(); ++i)
        gaps.push_back(Milliseconds(times[i] - times[i - 1]).count());
    std::nth_element(gaps.begin(), gaps.begin() + static_cast<ptrdiff_t>(gaps.size() / 2),
                     gaps.end());
    return gaps[gaps.size() / 2];
}

}  // namespace

TEST_CASE("Constraints: a draw under a form costs little beside the model's step",
          "[engine][model][serial]") {
    const auto engine = load_qwen2();
    if (!engine) return;
    const ConstraintSpec schema{
        .kind = ConstraintKind::json_schema,
        .text = R"({"type": "array", "minItems": 3, "items": {"type": "object", "properties":
            {"name": {"type": "string"}, "country": {"type": "string"}},
            "required": ["name", "country"]}})",
        .words = {}};
    token_ms(*engine, request_for({schema}));  // builds the vocabulary, fills what is remembered
    const double free = token_ms(*engine, request_for({}));
    const double formed = token_ms(*engine, request_for({schema}));
    std::cout << "qwen2: " << free << " ms a token, " << formed << " ms under a JSON schema\n";
    // The mask is below 1 ms; copies of the logits and the sampler's own work come to it.
    CHECK(formed < free + 5);
}

TEST_CASE("Constraints: a search through dead ends stops when asked", "[engine][model][serial]") {
    const auto engine = load_qwen2();
    if (!engine) return;
    // All but three of the tokens lead into the part that has no place for the word.
    const std::vector<ConstraintSpec> forms = {
        {.kind = ConstraintKind::regex, .text = "[^c]+|cat", .words = {}},
        {.kind = ConstraintKind::required_words, .text = {}, .words = {"cat"}}};
    GenerationRequest request = request_for(forms);
    const auto begun = Clock::now();
    const GenerationResult whole = engine->generate(request).wait();
    const double whole_ms = Milliseconds(Clock::now() - begun).count();
    CHECK(whole.text == "cat");
    for (const int after_ms : {0, 30, 100}) {
        GenerationHandle handle = engine->generate(request);
        std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
        const auto start = Clock::now();
        handle.cancel();
        const GenerationResult result = handle.wait();
        const double ms = Milliseconds(Clock::now() - start).count();
        std::cout << "cancelled after " << after_ms << " ms: stopped in " << ms << " of "
                  << whole_ms << " ms\n";
        CHECK((result.reason == StopReason::cancelled || result.text == "cat"));
        CHECK(ms < 200);
    }
}
