// SPDX-License-Identifier: Apache-2.0
// Contexts that are made longer, on the fake model.
#include "engine/context_growth.h"

#include <string>

#include "engine/model_loader.h"
#include "engine/overflow_chats.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

GenerationRequest tokens_request(size_t count) {
    GenerationRequest request = request_for({}, Overflow::grow);
    request.tokens = Tokens(count, 'x');
    request.ignore_end = true;
    return request;
}

}  // namespace

TEST_CASE("Overflow: the context grows within an answer, and nothing is evaluated again",
          "[engine][quick]") {
    const auto control = growing_control(64, 1000);
    const auto engine = make_loaded_fake_engine(control);
    OverflowRecorder recorder;
    const auto result = engine->generate(tokens_request(40), recorder.events()).wait();
    CHECK(result.reason == StopReason::context_full);
    CHECK(recorder.grown == std::vector<uint32_t>{128, 256, 512, 1000});
    CHECK(engine->model()->context_tokens == 1000);
    CHECK(result.notice.find("up to 1000 tokens") != std::string::npos);
    CHECK(result.tokens.size() == 1001 - 40);
    CHECK(result.tokens == expected_greedy(Tokens(40, 'x'), result.tokens.size()));
    CHECK(control->num_rows == 1000);  // each position once
    CHECK(control->num_faults == 0);
    // The longer context stays.
    auto longer = tokens_request(900);
    longer.max_tokens = 5;
    CHECK(engine->generate(longer).wait().tokens == expected_greedy(Tokens(900, 'x'), 5));
}

TEST_CASE("Overflow: the context grows for a prompt", "[engine][quick]") {
    const auto control = growing_control(64, 1000);
    const auto engine = make_loaded_fake_engine(control);
    OverflowRecorder recorder;
    auto request = tokens_request(300);
    request.max_tokens = 10;
    const auto result = engine->generate(request, recorder.events()).wait();
    CHECK(result.reason == StopReason::max_tokens);
    CHECK(result.notice.empty());
    REQUIRE(recorder.grown.size() == 1);
    CHECK(recorder.grown[0] >= 310);
    CHECK(result.tokens == expected_greedy(Tokens(300, 'x'), 10));
    // To the last token of what the model allows, and no further.
    request = tokens_request(1000);
    const auto last = engine->generate(request).wait();
    CHECK(last.reason == StopReason::context_full);
    CHECK(last.tokens == expected_greedy(Tokens(1000, 'x'), 1));
    const auto refused = engine->generate(tokens_request(1001)).wait();
    REQUIRE(refused.reason == StopReason::failed);
    CHECK(refused.error->code == ErrorCode::limit_exceeded);
    CHECK(engine->generate(tokens_request(10)).wait().reason == StopReason::context_full);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: a context that cannot grow ends with the reason", "[engine][quick]") {
    for (const auto& [trained, can_grow] :
         {std::pair{0u, true}, std::pair{64u, true}, std::pair{1000u, false}}) {
        const auto control = growing_control(64, trained);
        control->can_grow = can_grow;
        const auto engine = make_loaded_fake_engine(control);
        OverflowRecorder recorder;
        const auto result = engine->generate(tokens_request(40), recorder.events()).wait();
        CHECK(result.reason == StopReason::context_full);
        CHECK_FALSE(result.notice.empty());
        CHECK(recorder.grown.empty());
        CHECK(result.tokens.size() == 25);
        CHECK(engine->model()->context_tokens == 64);
    }
}

TEST_CASE("grow_context: memory sets the limit, and the old pool counts", "[engine][quick]") {
    const auto control = growing_control(64, 100'000);
    ModelSession session(load_fake_model(control));
    const uint64_t block = session.loaded.backend->kv_block_bytes();
    const auto grow = [&](uint32_t least, uint64_t available_blocks) {
        return grow_context(session, least,
                            {.total_bytes = block * 10'000,
                             .available_bytes = block * available_blocks * 20 / 19 + 1});
    };
    REQUIRE(grow(0, 1000).ok());
    CHECK(session.loaded.info.context_tokens == 128);
    CHECK(session.loaded.num_kv_blocks == 3);
    CHECK(session.kv.num_blocks() == 3);
    REQUIRE(grow(0, 4).ok());
    CHECK(session.loaded.info.context_tokens == 192);
    const auto too_little = grow(0, 3);
    REQUIRE_FALSE(too_little.ok());
    CHECK(too_little.error().code == ErrorCode::limit_exceeded);
    CHECK(too_little.error().what.find("MiB of memory") != std::string::npos);
    CHECK_FALSE(grow(5000, 10).ok());
    CHECK(session.loaded.info.context_tokens == 192);
    REQUIRE(grow(5000, 1000).ok());
    CHECK(session.loaded.info.context_tokens == 5000);
    REQUIRE(grow_context(session, 0, {}).ok());  // memory unknown: the allocation tells
    CHECK(session.loaded.info.context_tokens == 10000);
    CHECK(session.kv.check_invariants().ok());
}

TEST_CASE("Overflow: several generations go on while the context grows", "[engine][quick]") {
    const auto control = growing_control(128, 2000);
    const auto engine = make_loaded_fake_engine(control);
    std::vector<GenerationHandle> handles;
    for (size_t i = 0; i < 4; ++i) {
        auto request = tokens_request(30 + i);
        request.max_tokens = 500;
        handles.push_back(engine->generate(request));
    }
    for (size_t i = 0; i < 4; ++i)
        CHECK(handles[i].wait().tokens == expected_greedy(Tokens(30 + i, 'x'), 500));
    CHECK(control->num_faults == 0);
}

TEST_CASE("grow_context: ranks that share a KV head take memory for it each", "[engine][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    for (const uint32_t num_ranks : {1u, 2u, 4u}) {
        CAPTURE(num_ranks);
        const auto loader = make_model_loader();
        const LoadOptions options{.path = folder / "tiny.gguf",
                                  .context_tokens = 64,
                                  .num_threads = num_ranks,
                                  .num_ranks = num_ranks};
        LoadedModel loaded = loader->open(options, {}).value();
        REQUIRE(loader->start(loaded, options, {}).ok());
        ModelSession session(std::move(loaded));
        const uint64_t block = session.loaded.info.kv_bytes / session.loaded.num_kv_blocks;
        // More than one whole copy where two ranks have each head.
        CHECK(block == session.loaded.backend->kv_block_bytes() * (num_ranks == 4 ? 2 : 1));
        const auto grow = [&](uint64_t available) {
            return grow_context(
                session, 128,
                {.total_bytes = block * 1000, .available_bytes = available * 20 / 19 + 1});
        };
        CHECK_FALSE(grow(3 * block - block / 4).ok());  // 128 tokens and a block to spare
        CHECK(session.loaded.info.context_tokens == 64);
        REQUIRE(grow(3 * block).ok());
        CHECK(session.loaded.info.context_tokens == 128);
        CHECK(session.loaded.info.kv_bytes == 3 * block);
    }
}
