// SPDX-License-Identifier: Apache-2.0
// The tiny golden models through the whole engine: loading, prefill, decode, cached prefixes.
#include <algorithm>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "hokku/engine.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/golden_cases.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

GenerationRequest greedy_request(const std::vector<int32_t>& tokens, size_t count) {
    GenerationRequest request;
    request.tokens = tokens;
    request.sampling.temperature = 0;
    request.max_tokens = static_cast<uint32_t>(count);
    request.ignore_end = true;  // as the references, which go on after it
    return request;
}

}  // namespace

TEST_CASE("Engine: greedy text of the golden architectures, fresh and cached", "[engine]") {
    const auto folder = find_golden("arch");
    if (!folder) {
        report_skip("no golden/arch beside the checkout");
        return;
    }
    const auto engine = Engine::create().value();
    std::set<std::filesystem::path> models;
    for (const auto& entry : std::filesystem::directory_iterator(*folder))
        if (std::filesystem::exists(entry.path() / "model.gguf")) models.insert(entry.path());
    int num_checked = 0;
    for (const auto& model : models) {
        CAPTURE(model.filename().string());
        LoadOptions options;
        options.path = model / "model.gguf";
        options.exact = true;
        const auto loaded = engine->load(options);
        if (!loaded.ok()) {  // not declared yet; what must load is tested with the models
            CHECK(loaded.error().code == ErrorCode::unsupported);
            continue;
        }
        CHECK(loaded->num_vocab == 512);
        for (const GoldenCase& golden : read_golden_cases(model / "visible.json")) {
            CAPTURE(golden.tokens.size());
            const auto request = greedy_request(golden.tokens, golden.greedy.size());
            const GenerationResult fresh = engine->generate(request).wait();
            CHECK(fresh.tokens == golden.greedy);
            const GenerationResult cached = engine->generate(request).wait();
            CHECK(cached.stats.cached_tokens + 16 >= golden.tokens.size());
            CHECK(cached.tokens == golden.greedy);
            ++num_checked;
        }
    }
    CHECK(num_checked >= 3 * 20);
}

TEST_CASE("Engine: a model over ranks answers as one, and can be cancelled at any token",
          "[engine][quick][threads]") {
    const auto folder = find_golden_or_copy("arch/llama_bias");
    REQUIRE(folder);
    const auto engine = Engine::create().value();
    for (const uint32_t num_ranks : {2u, 4u}) {
        const auto loaded = engine->load({.path = *folder / "model.gguf",
                                          .num_threads = 4,
                                          .num_ranks = num_ranks,
                                          .exact = true});
        REQUIRE(loaded.ok());
        for (const GoldenCase& golden : read_golden_cases(*folder / "visible.json")) {
            const auto request = greedy_request(golden.tokens, golden.greedy.size());
            CHECK(engine->generate(request).wait().tokens == golden.greedy);
            for (const size_t count : {size_t{1}, size_t{3}}) {
                std::promise<void> reached, cancelled;
                size_t num_tokens = 0;
                GenerationEvents events;
                events.on_token = [&](const TokenLogprob&) {
                    if (++num_tokens != count) return;
                    reached.set_value();
                    cancelled.get_future().wait();
                };
                GenerationHandle generation = engine->generate(request, events);
                reached.get_future().wait();
                generation.cancel();
                cancelled.set_value();
                CHECK(generation.wait().reason == StopReason::cancelled);
            }
        }
    }
    const auto refused = engine->load({.path = *folder / "model.gguf", .num_ranks = 9});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::unsupported);
}
