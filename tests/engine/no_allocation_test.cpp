// SPDX-License-Identifier: Apache-2.0
// No memory is asked for while tokens are decoded: the whole step from the backend over the
// sampler and the text stream to the callback, in all threads.
#include <cstdlib>
#include <string>

#include "engine/allocation_counter.h"
#include "engine/fake_model.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

constexpr uint32_t kNumSteps = 100;

/// Allocations while tokens 10 to 110 of each of `count` continuations are generated, all in the
/// same steps; the rest of the run may allocate.
uint64_t allocations_while_decoding(Engine& engine, GenerationRequest request, bool with_tokens,
                                    size_t count = 1) {
    request.max_tokens = 10 + kNumSteps + 60;  // some tokens give no text
    request.ignore_end = true;
    uint64_t at_start = 0, at_end = 0;
    uint32_t num_texts = 0;
    GenerationEvents events;
    // Counting in on_text, as every step of these models gives text; on_token where asked for.
    events.on_text = [&](std::string_view) {
        ++num_texts;
        if (num_texts == 10) at_start = num_allocations();
        if (num_texts == 10 + kNumSteps) at_end = num_allocations();
    };
    if (with_tokens) events.on_token = [](const TokenLogprob&) {};
    std::vector<GenerationEvents> all(count);
    all.back() = std::move(events);
    for (GenerationHandle& handle : engine.generate_many(std::move(request), std::move(all)))
        CHECK(handle.wait().reason == StopReason::max_tokens);
    REQUIRE(at_end > 0);
    return at_end - at_start;
}

GenerationRequest full_request() {
    GenerationRequest request;
    request.raw_text = "The quick brown fox jumps over the lazy dog and";
    request.sampling.seed = 11;
    request.sampling.repeat_penalty = 1.1f;
    request.sampling.logit_bias = {{3, -1.0f}};
    request.stop_strings = {"this is not to be found", "nor this"};
    request.num_top_logprobs = 5;
    return request;
}

}  // namespace

TEST_CASE("Engine: the counter of allocations counts", "[engine][quick]") {
    if (!can_count_allocations()) {
        report_skip("the sanitizer replaces the allocator");
        return;
    }
    const uint64_t before = num_allocations();
    std::string* grown = new std::string(100, 'x');
    void* volatile plain = std::calloc(3, 7);  // volatile: not to be optimised away
    CHECK(num_allocations() >= before + 3);
    delete grown;
    std::free(plain);
}

TEST_CASE("Engine: no allocation in 100 decode steps of the engine itself", "[engine][quick]") {
    if (!can_count_allocations()) {
        report_skip("the sanitizer replaces the allocator");
        return;
    }
    auto control = std::make_shared<FakeControl>();
    control->num_kv_blocks = 32;  // nobody is made to wait
    // Long tokens too: texts that do not fit into a string's own storage.
    control->script = [](std::span<const int32_t> history, std::span<float> logits) {
        fake_logits(history, logits);
        logits[static_cast<size_t>(fake_token::first_long + 8)] += 6.0f;
    };
    const auto engine = make_loaded_fake_engine(control);
    CHECK(allocations_while_decoding(*engine, full_request(), true) == 0);
    GenerationRequest greedy = full_request();
    greedy.sampling = SamplingOptions();
    greedy.sampling.temperature = 0;
    CHECK(allocations_while_decoding(*engine, greedy, false) == 0);
    CHECK(allocations_while_decoding(*engine, full_request(), true, 4) == 0);
}

TEST_CASE("Engine: no allocation in 100 decode steps with a draft model", "[engine][quick]") {
    if (!can_count_allocations()) {
        report_skip("the sanitizer replaces the allocator");
        return;
    }
    auto control = std::make_shared<FakeControl>();
    control->max_step_logits = control->max_decode_rows = control->least_prefill_rows = 8;
    control->max_guesses = 7;
    control->draft = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    CHECK(allocations_while_decoding(*engine, full_request(), true) == 0);
    GenerationRequest greedy = full_request();
    greedy.sampling.temperature = 0;
    CHECK(allocations_while_decoding(*engine, greedy, false) == 0);
    CHECK(control->draft->num_steps > 50);
}

TEST_CASE("Engine: no allocation in 100 decode steps of a model over two ranks",
          "[engine][quick]") {
    if (!can_count_allocations()) {
        report_skip("the sanitizer replaces the allocator");
        return;
    }
    const auto path = find_golden_or_copy("arch/llama_bias/model.gguf");
    REQUIRE(path);
    const auto engine = Engine::create().value();
    const auto info = engine->load({.path = *path, .num_ranks = 2});
    REQUIRE(info.ok());
    CHECK(info->rank_weight_bytes.size() == 2);
    CHECK(allocations_while_decoding(*engine, full_request(), true) == 0);
}

TEST_CASE("Engine: no allocation in 100 decode steps of real models", "[engine][model]") {
    if (!can_count_allocations()) {
        report_skip("the sanitizer replaces the allocator");
        return;
    }
    for (const char* name : {"smollm2", "gemma3", "qwen2"}) {
        const auto path = find_model(name);
        if (!path) {
            report_skip(std::string("the model is not there: ") + name);
            return;
        }
        CAPTURE(name);
        const auto engine = Engine::create().value();
        REQUIRE(engine->load({.path = *path}).ok());
        CHECK(allocations_while_decoding(*engine, full_request(), true) == 0);
        CHECK(allocations_while_decoding(*engine, full_request(), true, 4) == 0);
    }
}
