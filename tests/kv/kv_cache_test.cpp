// SPDX-License-Identifier: Apache-2.0
#include "kv/kv_cache.h"

#include <numeric>
#include <utility>
#include <vector>

#include "support/catch.h"

using hokku::ErrorCode;
using hokku::KvCache;
using hokku::Sequence;

namespace {

constexpr uint32_t kBlockTokens = 4;

using Tokens = std::vector<int32_t>;

Tokens counting(int32_t first, size_t count) {
    Tokens tokens(count);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
}

/// A cache whose block copies are noted.
struct Pool {
    explicit Pool(uint32_t num_blocks)
        : cache(num_blocks, kBlockTokens,
                [this](uint32_t from, uint32_t to) { copies.emplace_back(from, to); }) {}
    ~Pool() { CHECK(cache.check_invariants().ok()); }

    void evaluate(Sequence& sequence, const Tokens& tokens) {
        REQUIRE(cache.reserve(sequence, static_cast<uint32_t>(tokens.size())).ok());
        cache.append(sequence, tokens);
    }
    /// Leaves the tokens in the cache, in use by nobody.
    void fill(const Tokens& tokens) {
        Sequence sequence = cache.open_empty();
        evaluate(sequence, tokens);
    }

    std::vector<std::pair<uint32_t, uint32_t>> copies;
    KvCache cache;
};

}  // namespace

TEST_CASE("KvCache: a new prompt starts with the longest cached prefix", "[kv][quick]") {
    Pool pool(8);
    pool.fill(counting(0, 10));
    SECTION("full blocks are shared without a copy") {
        Tokens prompt = counting(0, 8);
        prompt.push_back(99);
        const Sequence sequence = pool.cache.open(prompt);
        CHECK(sequence.length() == 8);
        CHECK(pool.copies.empty());
    }
    SECTION("a block that is only partly wanted is copied") {
        const Sequence sequence = pool.cache.open(Tokens{0, 1, 2, 3, 4, 5, 77, 78});
        CHECK(sequence.length() == 6);
        REQUIRE(pool.copies.size() == 1);
        CHECK(pool.copies[0].second == sequence.blocks()[1]);
        CHECK(pool.copies[0].first != pool.copies[0].second);
    }
    SECTION("the end of a sequence is continued in place") {
        const Sequence sequence = pool.cache.open(counting(0, 12));
        CHECK(sequence.length() == 10);
        CHECK(pool.copies.empty());
    }
    SECTION("the end of a sequence that is in use is copied") {
        const Sequence first = pool.cache.open(counting(0, 12));
        const Sequence second = pool.cache.open(counting(0, 12));
        CHECK(second.length() == 10);
        CHECK(pool.copies.size() == 1);
        CHECK(first.blocks()[1] == second.blocks()[1]);
        CHECK(first.blocks()[2] != second.blocks()[2]);
    }
    SECTION("another first token shares nothing") {
        CHECK(pool.cache.open(Tokens{5, 6, 7}).length() == 0);
    }
}

TEST_CASE("KvCache: the last token of a prompt is always left to evaluate", "[kv][quick]") {
    for (const size_t num_cached : {1u, 3u, 4u, 5u, 8u, 9u}) {
        CAPTURE(num_cached);
        Pool pool(8);
        pool.fill(counting(0, num_cached));
        for (size_t length = 1; length <= num_cached; ++length)
            CHECK(pool.cache.open(counting(0, length)).length() == length - 1);
        for (size_t length = 1; length <= num_cached; ++length)
            CHECK(pool.cache.open(counting(0, length), 3).length() ==
                  (length > 3 ? length - 3 : 0));
    }
}

TEST_CASE("KvCache: with several branches the longest common one is taken", "[kv][quick]") {
    Pool pool(8);
    pool.fill({1, 2, 3, 4, 5, 6});
    pool.fill({1, 2, 3, 4, 5, 7, 8});
    pool.fill({1, 2, 9});
    CHECK(pool.cache.open(Tokens{1, 2, 3, 4, 5, 7, 9, 9}).length() == 6);
    CHECK(pool.cache.open(Tokens{1, 2, 9, 9}).length() == 3);
    CHECK(pool.cache.open(Tokens{1, 2, 3, 4, 5, 6, 6}).length() == 6);
}

TEST_CASE("KvCache: equal blocks of two sequences become one", "[kv][quick]") {
    Pool pool(8);
    Sequence first = pool.cache.open_empty(), second = pool.cache.open_empty();
    pool.evaluate(first, {1, 2, 3, 4, 5});
    pool.evaluate(second, {1, 2, 3, 4, 6});
    CHECK(first.blocks()[0] == second.blocks()[0]);
    CHECK(pool.cache.num_available() == 5);
}

TEST_CASE("KvCache: what was used longest ago is evicted first, its end before its start",
          "[kv][quick]") {
    Pool pool(4);
    pool.fill(counting(100, 8));
    pool.fill(counting(200, 8));
    { const Sequence used_again = pool.cache.open(counting(100, 9)); }
    Sequence sequence = pool.cache.open_empty();
    pool.evaluate(sequence, counting(300, 3));
    CHECK(pool.cache.open(counting(100, 9)).length() == 8);
    CHECK(pool.cache.open(counting(200, 9)).length() == 4);
}

TEST_CASE("KvCache: blocks in use are never evicted", "[kv][quick]") {
    Pool pool(3);
    Sequence sequence = pool.cache.open_empty();
    pool.evaluate(sequence, counting(0, 9));
    CHECK(pool.cache.can_append(sequence, 3));
    CHECK_FALSE(pool.cache.can_append(sequence, 4));
    const auto refused = pool.cache.reserve(sequence, 4);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
    CHECK(sequence.blocks().size() == 3);

    Sequence other = pool.cache.open_empty();
    CHECK_FALSE(pool.cache.reserve(other, 1).ok());
    sequence = Sequence();
    CHECK(pool.cache.reserve(other, 12).ok());
}

TEST_CASE("KvCache: a sequence as long as the pool can be had again after a branch",
          "[kv][quick]") {
    // One block more than the context: the room that a copy needs beside its source.
    Pool pool(3 + 1);
    pool.fill(counting(0, 12));
    Sequence sequence = pool.cache.open(Tokens{0, 1, 2, 3, 4, 5, 6, 7, 8, 50, 51, 52});
    CHECK(sequence.length() == 9);
    pool.evaluate(sequence, {50, 51, 52});
    CHECK(sequence.length() == 12);
}

TEST_CASE("KvCache: room that was reserved and not used goes back to the pool", "[kv][quick]") {
    Pool pool(4);
    {
        Sequence sequence = pool.cache.open_empty();
        REQUIRE(pool.cache.reserve(sequence, 16).ok());
        CHECK(pool.cache.num_available() == 0);
        pool.cache.append(sequence, Tokens{1, 2});
    }
    CHECK(pool.cache.num_available() == 4);
    CHECK(pool.cache.open(Tokens{1, 2, 3}).length() == 2);
}

TEST_CASE("KvCache: clear forgets what nobody uses", "[kv][quick]") {
    Pool pool(6);
    pool.fill(counting(0, 6));
    Sequence sequence = pool.cache.open_empty();
    pool.evaluate(sequence, counting(50, 5));
    pool.cache.clear();
    CHECK(pool.cache.open(counting(0, 7)).length() == 0);
    CHECK(pool.cache.open(counting(50, 7)).length() == 5);
}
