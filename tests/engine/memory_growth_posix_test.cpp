// SPDX-License-Identifier: Apache-2.0
// What a long text takes of memory, as Linux counts it.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/prctl.h>

#include "hokku/engine.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// Otherwise the last byte that a huge page holds costs 2 MiB.
struct WithoutHugePages {
    WithoutHugePages() { REQUIRE(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0); }
    ~WithoutHugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
    WithoutHugePages(const WithoutHugePages&) = delete;
    WithoutHugePages& operator=(const WithoutHugePages&) = delete;
};

/// Of this process, in memory; 0 if unknown.
uint64_t anonymous_bytes() {
    std::ifstream file("/proc/self/status");
    std::string word;
    uint64_t kilobytes = 0;
    while (file >> word)
        if (word == "RssAnon:" && file >> kilobytes) return kilobytes * 1024;
    return 0;
}

/// What the allocator keeps of what was freed.
void give_back_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace

TEST_CASE("Engine: 2,000 tokens in one go do not make the memory grow", "[engine][model]") {
    const WithoutHugePages pages;
    for (const char* name : {"smollm2", "gemma3", "qwen2"}) {
        CAPTURE(name);
        const auto path = find_model(name);
        if (!path) return report_skip(std::string("the model is not there: ") + name);
        const auto engine = Engine::create().value();
        LoadOptions options;
        options.path = *path;
        options.context_tokens = 2048;
        if (const auto loaded = engine->load(options); !loaded.ok()) FAIL(loaded.error().message());
        GenerationRequest request;
        request.raw_text = "Once upon a time";
        request.sampling.seed = 1;
        request.max_tokens = 2000;
        request.ignore_end = true;
        request.reuse_cached_prefix = false;
        // Pages of the KV cache and of the sampler's buffers are touched as they are needed: the
        // same text twice needs the same ones.
        const GenerationResult warm_up = engine->generate(request).wait();
        uint64_t at_start = 0, at_end = 0;
        uint32_t num_tokens = 0;
        GenerationEvents events;
        events.on_token = [&](const TokenLogprob&) {
            ++num_tokens;
            if (num_tokens == 100) at_start = anonymous_bytes();
            if (num_tokens == 2000) at_end = anonymous_bytes();
        };
        const GenerationResult result = engine->generate(request, events).wait();
        CHECK(result.reason == StopReason::max_tokens);
        CHECK(result.tokens.size() == 2000);
        CHECK((result.tokens == warm_up.tokens));
        CHECK_FALSE(result.error.has_value());
        std::cout << name << ": " << result.stats.decode_tok_s << " tok/s over 2,000 tokens, "
                  << (static_cast<double>(at_end) - static_cast<double>(at_start)) / 1e6
                  << " MB more at the end\n";
        REQUIRE(at_start > 0);
        // What the text itself takes, some 400 bytes a token, and a KV block or two in another
        // place.
        CHECK(at_end < at_start + 4'500'000);
    }
}

TEST_CASE("Engine: beyond its context a model takes 64 MB and 300 bytes a token of its vocabulary",
          "[engine][model]") {
    for (const char* name : {"smollm2", "gemma3", "qwen2"}) {
        CAPTURE(name);
        const auto path = find_model(name);
        if (!path) return report_skip(std::string("the model is not there: ") + name);
        give_back_memory();
        const uint64_t before = anonymous_bytes();
        REQUIRE(before > 0);
        uint64_t most = 0;
        const auto look = [&] { most = std::max(most, anonymous_bytes()); };
        const auto engine = Engine::create().value();
        const auto loaded =
            engine->load({.path = *path, .context_tokens = 1024}, [&](double /*share*/) {
                look();
                return true;
            });
        REQUIRE(loaded.ok());
        GenerationRequest request;
        request.tokens.emplace(960, 1000);  // nearly all of the context
        request.max_tokens = 24;
        request.ignore_end = true;
        GenerationEvents events;
        events.on_token = [&](const TokenLogprob&) { look(); };
        REQUIRE(engine->generate(request, events).wait().reason == StopReason::max_tokens);
        // Of the pool, which has a block to spare, what the tokens took.
        const uint64_t context = loaded->kv_bytes * 960 / (1024 + 64);
        const uint64_t beyond = most - before - std::min(most - before, context);
        const uint64_t allowed = 64'000'000 + uint64_t{300} * loaded->num_vocab;
        std::cout << name << ": " << static_cast<double>(beyond) / 1e6
                  << " MB beyond the context, of " << static_cast<double>(allowed) / 1e6 << "\n";
        CHECK(beyond <= allowed);
    }
}
