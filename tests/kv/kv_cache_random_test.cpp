// SPDX-License-Identifier: Apache-2.0
// Random operations on the KV cache against a plain model: what lies in a sequence's blocks must
// always be that sequence's own tokens.
#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "kv/kv_cache.h"
#include "support/catch.h"

using hokku::KvCache;
using hokku::Sequence;

namespace {

constexpr uint32_t kBlockTokens = 4;
using Tokens = std::vector<int32_t>;

/// The pages of a backend, holding the tokens themselves instead of keys and values.
struct Pages {
    explicit Pages(uint32_t num_blocks) : slots(size_t{num_blocks} * kBlockTokens, -1) {}
    int32_t& at(const Sequence& sequence, uint32_t position) {
        return slots[size_t{sequence.blocks()[position / kBlockTokens]} * kBlockTokens +
                     position % kBlockTokens];
    }
    void copy(uint32_t from, uint32_t to) {
        std::copy_n(slots.begin() + from * kBlockTokens, kBlockTokens,
                    slots.begin() + to * kBlockTokens);
    }
    std::vector<int32_t> slots;
};

struct LiveSequence {
    Sequence sequence;
    Tokens tokens;
};

class RandomRun {
  public:
    RandomRun(uint32_t num_blocks, uint32_t seed)
        : random_(seed),
          pages_(num_blocks),
          cache_(num_blocks, kBlockTokens, [this](auto a, auto b) { pages_.copy(a, b); }) {}

    void run(int num_operations) {
        for (int i = 0; i < num_operations; ++i) {
            const uint32_t choice = below(10);
            if (live_.empty() || (choice < 2 && live_.size() < 4)) {
                open();
            } else if (choice < 8) {
                append(live_[below(static_cast<uint32_t>(live_.size()))]);
            } else {
                live_.erase(live_.begin() + below(static_cast<uint32_t>(live_.size())));
            }
            const auto checked = cache_.check_invariants();
            REQUIRE(checked.ok());
            for (LiveSequence& one : live_) check_contents(one);
        }
    }

    uint32_t num_reused_tokens = 0, num_refused = 0;
    bool is_complete = true;  ///< Every prefix that was ever stored must be found.

  private:
    uint32_t below(uint32_t limit) {
        return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random_);
    }

    // Few token values, so that prefixes are often shared.
    Tokens draw_tokens(uint32_t max_count) {
        Tokens tokens(1 + below(max_count));
        for (int32_t& token : tokens) token = static_cast<int32_t>(below(2));
        return tokens;
    }

    size_t longest_stored_prefix(const Tokens& prompt) const {
        size_t longest = 0;
        for (const Tokens& past : stored_) {
            const auto end = std::mismatch(past.begin(), past.end(), prompt.begin(), prompt.end());
            longest = std::max(longest, static_cast<size_t>(end.first - past.begin()));
        }
        return std::min(longest, prompt.size() - 1);
    }

    void open() {
        Tokens prompt = draw_tokens(14);
        LiveSequence opened{cache_.open(prompt), {}};
        const uint32_t num_cached = opened.sequence.length();
        REQUIRE(num_cached < prompt.size());
        if (is_complete) REQUIRE(num_cached == longest_stored_prefix(prompt));
        num_reused_tokens += num_cached;
        opened.tokens.assign(prompt.begin(), prompt.begin() + num_cached);
        evaluate(opened, Tokens(prompt.begin() + num_cached, prompt.end()));
        live_.push_back(std::move(opened));
    }

    void append(LiveSequence& one) { evaluate(one, draw_tokens(3)); }

    void evaluate(LiveSequence& one, const Tokens& tokens) {
        const auto count = static_cast<uint32_t>(tokens.size());
        const bool can_append = cache_.can_append(one.sequence, count);
        REQUIRE(cache_.reserve(one.sequence, count).ok() == can_append);
        if (!can_append) {
            ++num_refused;
            return;
        }
        for (uint32_t i = 0; i < count; ++i)
            pages_.at(one.sequence, one.sequence.length() + i) = tokens[i];
        cache_.append(one.sequence, tokens);
        one.tokens.insert(one.tokens.end(), tokens.begin(), tokens.end());
        if (is_complete) stored_.insert(one.tokens);
    }

    void check_contents(LiveSequence& one) {
        REQUIRE(one.sequence.length() == one.tokens.size());
        for (uint32_t i = 0; i < one.sequence.length(); ++i)
            REQUIRE(pages_.at(one.sequence, i) == one.tokens[i]);
    }

    std::mt19937 random_;
    Pages pages_;
    KvCache cache_;
    std::vector<LiveSequence> live_;
    std::set<Tokens> stored_;
};

}  // namespace

TEST_CASE("KvCache: random use of a small pool never mixes sequences", "[kv][quick]") {
    uint32_t num_reused_tokens = 0, num_refused = 0;
    for (uint32_t seed = 0; seed < 40; ++seed) {
        RandomRun random_run(4 + seed % 12, seed);
        random_run.is_complete = false;
        random_run.run(250);
        num_reused_tokens += random_run.num_reused_tokens;
        num_refused += random_run.num_refused;
    }
    CHECK(num_reused_tokens > 1000);  // the test did test what it is for
    CHECK(num_refused > 100);
}

TEST_CASE("KvCache: without eviction every stored prefix is found", "[kv][quick]") {
    for (uint32_t seed = 0; seed < 10; ++seed) {
        RandomRun random_run(5000, seed);
        random_run.run(120);
        CHECK(random_run.num_refused == 0);
        CHECK(random_run.num_reused_tokens > 30);
    }
}

TEST_CASE("KvCache: 100,000 random operations", "[kv]") {
    RandomRun random_run(24, 7);
    random_run.is_complete = false;
    random_run.run(100'000);
    CHECK(random_run.num_reused_tokens > 10'000);
}
