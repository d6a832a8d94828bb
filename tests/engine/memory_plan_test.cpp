// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_plan.h"

#include "hokku/devices.h"
#include "support/catch.h"

using hokku::ContextPlan;
using hokku::ContextRequest;
using hokku::ErrorCode;
using hokku::plan_context;
using hokku::SystemMemory;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

/// 64 tokens a block of 1 MiB: 4096 tokens take 65 MiB.
ContextRequest request_of(std::optional<uint32_t> context_tokens) {
    ContextRequest request;
    request.context_tokens = context_tokens;
    request.trained_context = 32768;
    request.kv_block_bytes = kMiB;
    request.block_tokens = 64;
    request.weight_bytes = 100 * kMiB;
    return request;
}

}  // namespace

TEST_CASE("memory plan: with room for all the context is what was asked for", "[engine][quick]") {
    const SystemMemory memory{16384 * kMiB, 8192 * kMiB};
    struct Case {
        std::optional<uint32_t> asked;
        uint32_t tokens, blocks;
    };
    for (const Case& expected : {Case{std::nullopt, 4096, 65}, Case{0, 32768, 513}, Case{1, 1, 2},
                                 Case{64, 64, 2}, Case{65, 65, 3}}) {
        const ContextPlan plan = plan_context(request_of(expected.asked), memory).value();
        CHECK(plan.context_tokens == expected.tokens);
        CHECK(plan.num_kv_blocks == expected.blocks);
        CHECK(plan.kv_bytes == expected.blocks * kMiB);
        CHECK(plan.warning.empty());
    }
}

TEST_CASE("memory plan: the model's own limit holds", "[engine][quick]") {
    const SystemMemory memory{16384 * kMiB, 8192 * kMiB};
    const ContextPlan plan = plan_context(request_of(100'000), memory).value();
    CHECK(plan.context_tokens == 32768);
    CHECK_FALSE(plan.warning.empty());
    ContextRequest small = request_of(std::nullopt);
    small.trained_context = 2048;
    CHECK(plan_context(small, memory).value().context_tokens == 2048);
    CHECK(plan_context(small, memory).value().warning.empty());
    ContextRequest unknown = request_of(0);
    unknown.trained_context = 0;
    CHECK(plan_context(unknown, memory).value().context_tokens == 4096);
}

TEST_CASE("memory plan: a context that nobody asked for shrinks until it fits", "[engine][quick]") {
    // 140 MiB less a twentieth less the weights leaves 33 MiB: 2048 tokens.
    const ContextPlan plan =
        plan_context(request_of(std::nullopt), SystemMemory{1024 * kMiB, 140 * kMiB}).value();
    CHECK(plan.context_tokens == 2048);
    CHECK(plan.warning.find("2048") != std::string::npos);
    const auto none = plan_context(request_of(std::nullopt), SystemMemory{1024 * kMiB, 4 * kMiB});
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().code == ErrorCode::limit_exceeded);
}

TEST_CASE("memory plan: a context that was asked for is had or refused with numbers",
          "[engine][quick]") {
    const SystemMemory memory{1024 * kMiB, 100 * kMiB};
    CHECK(plan_context(request_of(5888), memory).ok());  // 93 blocks of 95
    const auto refused = plan_context(request_of(8192), memory);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
    CHECK(refused.error().what ==
          "the KV cache of 8192 tokens takes 129 MiB and 95 MiB are available");
    CHECK(refused.error().expected == "at most 6016 tokens");
    CHECK(plan_context(request_of(6016), memory).ok());
    CHECK_FALSE(plan_context(request_of(6017), memory).ok());

    ContextRequest unmapped = request_of(5888);
    unmapped.is_weights_mapped = false;  // the weights take the memory themselves
    CHECK_FALSE(plan_context(unmapped, memory).ok());
}

TEST_CASE("memory plan: what is promised to others is not given away", "[engine][quick]") {
    // 4096 tokens take 65 MiB, and of 100 MiB five stay free.
    const SystemMemory memory{16384 * kMiB, 100 * kMiB};
    ContextRequest request = request_of(4096);
    request.promised_bytes = 30 * kMiB;
    CHECK(plan_context(request, memory).value().context_tokens == 4096);
    request.promised_bytes = 31 * kMiB;
    const auto refused = plan_context(request, memory);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
    CHECK(refused.error().what.find("64 MiB are available") != std::string::npos);
    request.promised_bytes = UINT64_MAX;
    CHECK_FALSE(plan_context(request, memory).ok());
}

TEST_CASE("memory plan: where the memory is not known nothing is refused", "[engine][quick]") {
    CHECK(plan_context(request_of(0), SystemMemory{}).value().context_tokens == 32768);
}

TEST_CASE("memory plan: a hostile model's sizes do not wrap", "[engine][quick]") {
    ContextRequest request = request_of(0);
    request.trained_context = UINT32_MAX;
    request.kv_block_bytes = uint64_t{1} << 60;
    const auto refused = plan_context(request, SystemMemory{1024 * kMiB, 512 * kMiB});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
}

TEST_CASE("automatic_context: is what the engine chooses by itself", "[engine][quick]") {
    // 16 KiB a token: 4,096 tokens take 65 blocks of 1 MiB, 2,048 take 33.
    const auto tokens = [](uint32_t trained_context, uint64_t available_bytes) {
        return hokku::automatic_context({.trained_context = trained_context,
                                         .kv_bytes_per_token = kMiB / 64,
                                         .weight_bytes = 100 * kMiB,
                                         .available_bytes = available_bytes});
    };
    CHECK(tokens(32768, 8192 * kMiB) == 4096);
    CHECK(tokens(2048, 8192 * kMiB) == 2048);
    CHECK(tokens(0, 8192 * kMiB) == 4096);
    CHECK(tokens(32768, 0) == 4096);  // unknown
    CHECK(tokens(32768, 140 * kMiB) == 2048);
    CHECK(tokens(32768, 4 * kMiB) == 256);  // will be refused
    CHECK(tokens(100, 1) == 100);
    CHECK(hokku::automatic_context({.kv_bytes_per_token = UINT64_MAX, .available_bytes = kMiB}) ==
          256);
}
