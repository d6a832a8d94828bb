// SPDX-License-Identifier: Apache-2.0
// The downloaded models through the whole engine.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hokku/engine.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/golden_cases.h"

using namespace hokku;
using namespace hokku::testing;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr const char* kModels[] = {"smollm2", "gemma3", "qwen2"};

std::unique_ptr<Engine> load_engine(const char* name, bool exact = false,
                                    uint32_t context_tokens = 4096) {
    const auto path = find_model(name);
    if (!path) {
        report_skip(std::string("the model is not there: ") + name);
        return nullptr;
    }
    auto engine = Engine::create().value();
    LoadOptions options;
    options.path = *path;
    options.exact = exact;
    options.context_tokens = context_tokens;
    const auto loaded = engine->load(options);
    if (!loaded.ok()) FAIL(loaded.error().message());
    return engine;
}

GenerationRequest greedy_request(const std::vector<int32_t>& tokens, size_t count) {
    GenerationRequest request;
    request.tokens = tokens;
    request.sampling.temperature = 0;
    request.max_tokens = static_cast<uint32_t>(count);
    return request;
}

/// Compares up to the first step whose margin is too small to decide.
void check_greedy(const GoldenCase& golden, const GenerationResult& result, float least_margin) {
    for (size_t i = 0; i < golden.greedy.size(); ++i) {
        if (golden.greedy_margin[i] <= least_margin &&
            (i >= result.tokens.size() || result.tokens[i] != golden.greedy[i]))
            return;
        CAPTURE(i, golden.greedy_margin[i]);
        REQUIRE(i < result.tokens.size());
        REQUIRE(result.tokens[i] == golden.greedy[i]);
    }
}

void check_golden_text(const char* name, bool exact, float least_margin) {
    const auto path = find_golden(std::string("real/") + name + "/visible.json");
    if (!path) {
        report_skip("no golden/real beside the checkout");
        return;
    }
    const auto engine = load_engine(name, exact);
    if (!engine) return;
    for (const GoldenCase& golden : read_golden_cases(*path)) {
        CAPTURE(name, golden.name);
        if (exact && golden.tokens.size() > 100) continue;  // minutes in scalar code
        const auto request = greedy_request(golden.tokens, golden.greedy.size());
        const GenerationResult fresh = engine->generate(request).wait();
        check_greedy(golden, fresh, least_margin);
        if (exact && golden.name != "short") continue;
        const GenerationResult cached = engine->generate(request).wait();
        CHECK(cached.stats.cached_tokens + 16 >= golden.tokens.size());
        check_greedy(golden, cached, least_margin);
    }
}

template <class Condition>
bool wait_for(Condition condition) {
    for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end;) {
        if (condition()) return true;
        std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
}

bool has_repeated_line(const std::string& text) {
    std::vector<std::string> lines;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\n', start), text.size());
        const std::string line = text.substr(start, end - start);
        if (line.find_first_not_of(" \t") != std::string::npos) {
            if (std::find(lines.begin(), lines.end(), line) != lines.end()) return true;
            lines.push_back(line);
        }
        start = end + 1;
    }
    return false;
}

}  // namespace

TEST_CASE("Engine: greedy text of the real models, exact", "[engine][model]") {
    for (const char* name : kModels) check_golden_text(name, true, 0.01f);
}

TEST_CASE("Engine: greedy text of the real models, fast kernels", "[engine][model]") {
    for (const char* name : kModels) check_golden_text(name, false, 0.5f);
}

TEST_CASE("Engine: a seed repeats a text, whatever is cached", "[engine][model]") {
    for (const char* name : kModels) {
        CAPTURE(name);
        const auto engine = load_engine(name);
        if (!engine) return;
        GenerationRequest request;
        request.raw_text =
            "The history of the small town began when a group of travellers decided, after a long "
            "winter in the mountains, to";
        request.max_tokens = 60;
        for (uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(seed);
            request.sampling.seed = seed;
            request.reuse_cached_prefix = false;
            const GenerationResult fresh = engine->generate(request).wait();
            request.reuse_cached_prefix = true;
            const GenerationResult cached = engine->generate(request).wait();
            CHECK(fresh.stats.cached_tokens == 0);
            CHECK(cached.stats.cached_tokens > 0);
            CHECK(cached.tokens == fresh.tokens);
        }
    }
}

namespace {

// Instrumented code is several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr milliseconds kMaxLoadStop{2000};
#else
constexpr milliseconds kMaxLoadStop{200};
#endif

void check_cancelled_load(Engine& engine, bool use_mapping) {
    CAPTURE(use_mapping);
    std::optional<Clock::time_point> cancelled;
    LoadOptions options;
    options.path = engine.model()->path;
    options.use_mapping = use_mapping;
    const auto loaded = engine.load(options, [&](double share) {
        if (share >= 0.05 && !cancelled) {
            cancelled = Clock::now();
            engine.cancel_load();
        }
        return true;
    });
    const auto end = Clock::now();
    REQUIRE(cancelled.has_value());
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().code == ErrorCode::cancelled);
    CHECK(end - *cancelled <= kMaxLoadStop);
}

}  // namespace

TEST_CASE("Engine: the real models stop within 200 ms", "[engine][model][serial]") {
    for (const char* name : kModels) {
        CAPTURE(name);
        const auto engine = load_engine(name);
        if (!engine) return;
        for (const bool in_prefill : {true, false}) {
            CAPTURE(in_prefill);
            std::atomic<bool> has_begun{false};
            GenerationEvents events;
            if (in_prefill) {
                events.on_prefill = [&](uint32_t, uint32_t) { has_begun = true; };
            } else {
                events.on_text = [&](std::string_view) { has_begun = true; };
            }
            GenerationRequest request =
                greedy_request(std::vector<int32_t>(in_prefill ? 3000 : 20, 300), 0);
            request.ignore_end = true;
            request.reuse_cached_prefix = false;
            GenerationHandle handle = engine->generate(request, events);
            REQUIRE(wait_for([&] { return has_begun.load(); }));
            std::this_thread::sleep_for(milliseconds(30));
            const auto start = Clock::now();
            handle.cancel();
            CHECK(handle.wait().reason == StopReason::cancelled);
            const auto taken = std::chrono::duration<double, std::milli>(Clock::now() - start);
            std::cout << name << (in_prefill ? " prefill" : " decode") << " stopped after "
                      << taken.count() << " ms\n";
            CHECK(taken < milliseconds(200));
        }
        for (const bool use_mapping : {true, false}) check_cancelled_load(*engine, use_mapping);
    }
}

TEST_CASE("Engine: a seed gives the same text whether the prompt was cached or not",
          "[engine][model]") {
    for (const char* name : kModels) {
        CAPTURE(name);
        const auto engine = load_engine(name, false, 2048);
        if (!engine) return;
        GenerationRequest request;
        // Longer than a window of attention and than a cut of it.
        std::string prompt;
        for (int i = 0; i < 60; ++i)
            prompt += "On day " + std::to_string(i) + " the river rose, and we wrote. ";
        request.raw_text = prompt;
        request.sampling.seed = 4;
        request.max_tokens = 60;
        request.ignore_end = true;
        const GenerationResult fresh = engine->generate(request).wait();
        REQUIRE(fresh.tokens.size() == 60);
        CHECK(fresh.stats.cached_tokens == 0);
        const GenerationResult cached = engine->generate(request).wait();
        CHECK(cached.stats.cached_tokens > 500);
        CHECK((cached.tokens == fresh.tokens));
    }
}

// The trial that the project started from. Whether the word is there is not the point here:
// guaranteeing it is what constraints are for.
TEST_CASE("Engine: a haiku about GPU computing, 20 times", "[engine][model]") {
    const auto engine = load_engine("qwen2");
    if (!engine) return;
    int num_with_word = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        GenerationRequest request;
        request.messages = {
            {"user", "Write a haiku about GPU computing that includes the word \"forty-two\""}};
        request.sampling.temperature = 0.7f;
        request.sampling.seed = seed;
        request.max_tokens = 400;
        const GenerationResult result = engine->generate(request).wait();
        CAPTURE(result.text);
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK_FALSE(has_repeated_line(result.text));
        CHECK(result.text.size() > 20);
        std::string lower = result.text;
        for (char& c : lower)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        num_with_word += lower.find("forty-two") != std::string::npos;
    }
    std::cout << "\"forty-two\" is in " << num_with_word << " of 20 haikus\n";
}

TEST_CASE("Engine: a seed gives the same text alone, beside others and after waiting",
          "[engine][model]") {
    for (const char* name : kModels) {
        CAPTURE(name);
        for (const bool exact : {false, true}) {
            if (exact && std::string(name) != "smollm2") continue;  // slow
            CAPTURE(exact);
            // Room for two of the four: somebody always waits and is resumed.
            const auto engine = load_engine(name, exact, 256);
            if (!engine) return;
            GenerationRequest request;
            request.raw_text =
                "Once upon a time there was a small house by the sea, and in it lived an old man "
                "who wrote letters all day long. One morning he";
            request.sampling.seed = 40;
            request.ignore_end = true;
            request.max_tokens = exact ? 60 : 110;
            std::vector<GenerationHandle> handles =
                engine->generate_many(request, std::vector<GenerationEvents>(4));
            std::vector<GenerationResult> together;
            uint32_t num_forward = 0;
            for (GenerationHandle& handle : handles) {
                together.push_back(handle.wait());
                num_forward += together.back().stats.forward_tokens;
            }
            for (size_t i = 0; i < together.size(); ++i) {
                CAPTURE(i);
                request.sampling.seed = 40 + i;
                request.reuse_cached_prefix = false;
                const GenerationResult alone = engine->generate(request).wait();
                REQUIRE(alone.reason == StopReason::max_tokens);
                CHECK(together[i].tokens == alone.tokens);
            }
            // Some of the tokens were evaluated again.
            if (!exact) CHECK(num_forward > together[0].stats.prompt_tokens + 4 * 109);
        }
    }
}

TEST_CASE("Engine: guesses ahead leave each model's text as it is", "[engine][model]") {
    const std::string code =
        "def area(width, height):\n    return width * height\n\n"
        "def volume(width, height, depth):\n    return width * height * depth\n\n"
        "def perimeter(width, height):\n    return 2 * (width + height)\n";
    for (const char* name : kModels) {
        CAPTURE(name);
        const auto engine = load_engine(name);
        if (!engine) return;
        uint32_t num_right = 0, num_guessed = 0;
        for (const bool is_drawn : {false, true}) {
            CAPTURE(is_drawn);
            GenerationRequest request;
            request.raw_text = code + "\n# The same code once more:\n\n";
            request.max_tokens = 150;
            request.sampling.temperature = is_drawn ? 0.8f : 0.0f;
            request.sampling.seed = 3;
            const GenerationResult guessed = engine->generate(request).wait();
            request.prompt_lookup = false;
            const GenerationResult plain = engine->generate(request).wait();
            REQUIRE(plain.reason != StopReason::failed);
            CHECK(guessed.tokens == plain.tokens);
            CHECK(guessed.text == plain.text);
            CHECK(plain.stats.guessed_tokens == 0);
            num_right += guessed.stats.right_guesses;
            num_guessed += guessed.stats.guessed_tokens;
        }
        CHECK(num_right > 0);
        std::cout << name << ": " << num_right << " of " << num_guessed << " guesses were right\n";
    }
}

TEST_CASE("Engine: a screened head draws the same text", "[engine][model]") {
    for (const char* name : kModels) {
        const auto path = find_model(name);
        if (!path) return report_skip(std::string("the model is not there: ") + name);
        CAPTURE(name);
        std::vector<std::vector<TokenId>> texts[2];
        for (const bool screens : {false, true}) {
            auto engine = Engine::create().value();
            const auto info =
                engine->load({.path = *path, .context_tokens = 1024, .screen_head = screens});
            REQUIRE(info.ok());
            REQUIRE((info->screens_head == screens || info->kernels == "reference"));
            for (const float temperature : {0.0f, 0.8f}) {
                GenerationRequest request;
                request.raw_text = "The lighthouse keeper found an old letter in the sea. It said";
                request.max_tokens = 250;
                request.ignore_end = true;
                request.sampling.temperature = temperature;
                request.sampling.seed = 5;
                // Two at once, then one.
                for (GenerationHandle& handle :
                     engine->generate_many(request, std::vector<GenerationEvents>(2)))
                    texts[screens].push_back(handle.wait().tokens);
                request.sampling.seed = 6;
                texts[screens].push_back(engine->generate(request).wait().tokens);
            }
        }
        CHECK(texts[0].size() == 6);
        CHECK(texts[0].front().size() == 250);
        CHECK(texts[0] == texts[1]);
    }
}
