// SPDX-License-Identifier: Apache-2.0
// Overflows and branches on the CPU backend: what is in the cache must be what an engine of its own
// would compute, for every architecture and KV type.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "hokku/engine.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"
#include "support/time_limits.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

constexpr KvType kTypes[] = {KvType::f32, KvType::f16, KvType::q8_0, KvType::q4_0};

std::unique_ptr<Engine> load(const LoadOptions& options) {
    auto engine = Engine::create().value();
    const auto loaded = engine->load(options);
    if (!loaded.ok()) FAIL(loaded.error().message());
    return engine;
}

std::vector<TokenId> some_tokens(size_t count, uint32_t num_vocab, size_t seed) {
    std::vector<TokenId> tokens(count);
    for (size_t i = 0; i < count; ++i)
        tokens[i] = static_cast<TokenId>((i * 7919 + seed * 31 + 13) % (num_vocab - 10));
    return tokens;
}

GenerationRequest greedy(std::vector<TokenId> tokens, uint32_t count) {
    GenerationRequest request;
    request.tokens = std::move(tokens);
    request.sampling.temperature = 0;
    request.max_tokens = count;
    request.ignore_end = true;
    return request;
}

/// A text, then branches off it at several places: each as from an engine of its own.
void check_branches(Engine& engine, uint32_t longest) {
    const uint32_t num_vocab = engine.model()->num_vocab;
    const auto trunk = some_tokens(longest, num_vocab, 0);
    for (const uint32_t place : {1u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, longest}) {
        std::vector<TokenId> branch(trunk.begin(), trunk.begin() + place);
        const auto more = some_tokens(20, num_vocab, place);
        branch.insert(branch.end(), more.begin(), more.end());
        engine.generate(greedy(trunk, 8)).wait();
        const auto cached = engine.generate(greedy(branch, 6)).wait();
        GenerationRequest request = greedy(branch, 6);
        request.reuse_cached_prefix = false;
        const auto fresh = engine.generate(request).wait();
        CAPTURE(place);
        CHECK(cached.stats.cached_tokens == place);
        CHECK(fresh.stats.cached_tokens == 0);
        CHECK(cached.tokens == fresh.tokens);
    }
}

std::vector<ChatMessage> talk(size_t num_turns) {
    std::vector<ChatMessage> messages = {{"system", "Short."}};
    for (size_t i = 0; i < num_turns; ++i) {
        messages.push_back({"user", "what is " + std::to_string(i)});
        messages.push_back({"assistant", "a number"});
    }
    messages.push_back({"user", "go on"});
    return messages;
}

}  // namespace

// CASES 44 and 48: the cache keeps every position, sliding windows or not, so that a text can be
// taken up anywhere; what is evaluated again has its right positions.
TEST_CASE("Engine: branches of every architecture and KV type agree with fresh evaluation",
          "[engine][lanes]") {
    const auto arch = find_golden("arch");
    if (!arch) return report_skip("golden/arch is not there");
    const auto engine = Engine::create().value();
    size_t num_models = 0, num_paths = 0;
    for (const auto& entry : fs::directory_iterator(*arch)) {
        const fs::path path = entry.path() / "model.gguf";
        ++num_paths;
        for (size_t i = 0; i < std::size(kTypes); ++i) {
            // Sanitizers make this take minutes: there each architecture has one of the types.
            if (kIsSanitized && num_paths % std::size(kTypes) != i) continue;
            const KvType type = kTypes[i];
            const LoadOptions options{.path = path, .kv_type = type, .exact = true};
            if (!fs::exists(path) || !engine->load(options).ok()) continue;
            CAPTURE(path.string(), kv_type_name(type));
            ++num_models;
            check_branches(*engine, 100);
        }
    }
    CHECK(num_models >= (kIsSanitized ? 40 : 160));
}

TEST_CASE("Engine: branches around a sliding window of 16 agree with fresh evaluation",
          "[engine][quick]") {
    const auto folder = find_golden("arch/gemma3_w16");
    if (!folder) return report_skip("golden/arch is not there");
    for (const KvType type : kTypes) {
        CAPTURE(kv_type_name(type));
        check_branches(*load({.path = *folder / "model.gguf", .kv_type = type, .exact = true}),
                       100);
    }
}

TEST_CASE("Engine: after turns were dropped each token is that of the new context",
          "[engine][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    for (const KvType type : kTypes) {
        CAPTURE(kv_type_name(type));
        const LoadOptions options{
            .path = folder / "tiny.gguf", .context_tokens = 256, .kv_type = type, .exact = true};
        const auto engine = load(options);
        GenerationRequest request;
        request.messages = talk(4);
        request.overflow = Overflow::drop_oldest;
        request.sampling.temperature = 0;
        request.max_tokens = 300;
        request.ignore_end = true;
        struct Drop {
            size_t num_tokens;
            std::vector<ChatMessage> remaining;
        };
        std::vector<Drop> drops;
        size_t num_tokens = 0;
        GenerationEvents events;
        events.on_token = [&](const TokenLogprob&) { ++num_tokens; };
        events.on_dropped = [&](const DroppedTurns& turns) {
            drops.push_back({num_tokens, turns.remaining});
        };
        const auto result = engine->generate(request, events).wait();
        REQUIRE_FALSE(drops.empty());
        REQUIRE(result.tokens.size() > drops[0].num_tokens);
        // The part after each drop, from a prompt of the remaining turns and the text before.
        const auto fresh = load(options);
        for (size_t i = 0; i < drops.size(); ++i) {
            GenerationRequest rest;
            rest.messages = drops[i].remaining;
            auto tokens = fresh->tokenize_request(rest).value();
            const size_t end =
                i + 1 < drops.size() ? drops[i + 1].num_tokens : result.tokens.size();
            tokens.insert(tokens.end(), result.tokens.begin(),
                          result.tokens.begin() + static_cast<std::ptrdiff_t>(drops[i].num_tokens));
            const auto expected =
                fresh->generate(greedy(tokens, static_cast<uint32_t>(end - drops[i].num_tokens)))
                    .wait();
            CHECK(std::equal(
                expected.tokens.begin(), expected.tokens.end(),
                result.tokens.begin() + static_cast<std::ptrdiff_t>(drops[i].num_tokens)));
        }
    }
}

TEST_CASE("Engine: a context that has grown goes on as one that was long from the start",
          "[engine][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    for (const KvType type : kTypes) {
        for (const uint32_t num_ranks : {1u, 2u, 4u}) {
            CAPTURE(kv_type_name(type), num_ranks);
            LoadOptions options{.path = folder / "tiny.gguf",
                                .context_tokens = 64,
                                .kv_type = type,
                                .num_threads = std::max(num_ranks, 2u),
                                .num_ranks = num_ranks};
            const auto engine = load(options);
            GenerationRequest request = greedy(some_tokens(30, TinyLlama::kNumVocab, 1), 200);
            request.overflow = Overflow::grow;
            const uint64_t kv_bytes = engine->model()->kv_bytes;
            const auto grown = engine->generate(request).wait();
            CHECK(grown.reason == StopReason::max_tokens);
            CHECK(grown.stats.forward_tokens == 30 + 199);
            CHECK(engine->model()->context_tokens == 256);
            CHECK(engine->model()->kv_bytes > 2 * kv_bytes);
            options.context_tokens = 256;
            CHECK(load(options)->generate(request).wait().tokens == grown.tokens);
        }
    }
}

TEST_CASE("Engine: LongRoPE's boundary is where a context stops growing", "[engine][quick]") {
    const auto folder = find_golden("arch/phi3_longrope_short");
    if (!folder) return report_skip("golden/arch is not there");
    const auto engine = load({.path = *folder / "model.gguf", .context_tokens = 16});
    const uint32_t trained = engine->model()->trained_context;
    GenerationRequest request = greedy(some_tokens(5, 500, 1), trained + 10);
    request.overflow = Overflow::grow;
    const auto result = engine->generate(request).wait();
    CHECK(result.reason == StopReason::context_full);
    CHECK_FALSE(result.notice.empty());
    CHECK(engine->model()->context_tokens < trained);
    CHECK(result.tokens.size() + 5 == engine->model()->context_tokens + 1);
}

TEST_CASE("Engine: the starter model summarises what it drops", "[engine][model]") {
    const auto path = find_model("smollm2");
    if (!path) return report_skip("the model smollm2 is not downloaded");
    const auto engine = load({.path = *path, .context_tokens = 256});
    GenerationRequest request;
    request.messages = {{"system", "You are a helpful assistant."}};
    for (const char* fact : {"My name is Aiko and I live in Kyoto with two cats.",
                             "I work as a carpenter and build wooden boats.",
                             "Last summer I sailed to Okinawa and met Kenji.",
                             "Kenji wants to buy a boat for three million yen."}) {
        request.messages.push_back(
            {"user", std::string(fact) + " Please remember that. " + std::string(40, ' ') + fact});
        request.messages.push_back(
            {"assistant", std::string("I will remember: ") + fact + " " + fact});
    }
    request.messages.push_back({"user", "What do you know about me?"});
    request.overflow = Overflow::summarise;
    request.sampling.temperature = 0;
    request.max_tokens = 60;
    const auto result = engine->generate(request).wait();
    REQUIRE(result.reason != StopReason::failed);
    REQUIRE(result.dropped);
    std::cout << "summary: " << result.dropped->summary << "\nanswer: " << result.text << "\n";
    CHECK_FALSE(result.dropped->summary.empty());
    CHECK_FALSE(result.text.empty());
    CHECK(engine->tokenizer()->encode(result.dropped->summary, {}).value().size() <= 40);
}
