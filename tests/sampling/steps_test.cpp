// SPDX-License-Identifier: Apache-2.0
// The steps beyond top-k, top-p and min-p. Expected values come by hand, or from the chain that
// follows llama.cpp, which is compared with the library itself elsewhere.
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "hokku/llama_sampling.h"
#include "sampling/dry_breakers.h"
#include "sampling/dry_repeats.h"
#include "sampling/random.h"
#include "sampling/sampler.h"
#include "support/catch.h"
#include "text/tiny_vocabulary.h"

using namespace hokku;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Every step off: the draw is from the plain softmax.
SamplingOptions plain_options(uint64_t seed = 1) {
    SamplingOptions options;
    options.temperature = 1.0f;
    options.top_k = 0;
    options.top_p = 1.0f;
    options.min_p = 0.0f;
    options.repeat_penalty = 1.0f;
    options.dry_breakers.clear();
    options.seed = seed;
    return options;
}

Sampler make_sampler(const SamplingOptions& options, size_t num_vocab) {
    return Sampler::create(options, static_cast<uint32_t>(num_vocab), 10'000).value();
}

std::map<TokenId, int> counts_of(const SamplingOptions& options, const std::vector<float>& logits,
                                 int count) {
    Sampler sampler = make_sampler(options, logits.size());
    std::map<TokenId, int> counts;
    for (int i = 0; i < count; ++i) ++counts[sampler.sample(logits).value()];
    return counts;
}

std::set<TokenId> support_of(const SamplingOptions& options, const std::vector<float>& logits) {
    std::set<TokenId> ids;
    for (const auto& [id, count] : counts_of(options, logits, 400)) ids.insert(id);
    return ids;
}

/// The logits of these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
    std::vector<float> logits;
    for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
    return logits;
}

std::vector<float> random_logits(size_t count, uint64_t seed) {
    RandomSource random(seed);
    std::vector<float> logits(count);
    for (float& logit : logits)
        logit = static_cast<float>(3.0 * std::sqrt(-2.0 * std::log(1.0 - random.next_unit())) *
                                   std::cos(6.283185307 * random.next_unit()));
    return logits;
}

/// Candidates left by our step and by llama.cpp's.
void check_kept(const SamplingOptions& options, const llama_cpp::Element& element) {
    for (const uint32_t size : {1u, 2u, 50u, 3000u})
        for (uint64_t seed = 1; seed <= 10; ++seed) {
            const std::vector<float> logits = random_logits(size, seed);
            Sampler ours = make_sampler(options, size);
            auto theirs = llama_cpp::Chain::create(
                {.elements = {element, llama_cpp::Dist{}}, .num_vocab = size, .max_history = 10});
            REQUIRE(ours.sample(logits).ok());
            REQUIRE(theirs->sample(logits).ok());
            CAPTURE(size, seed);
            CHECK(ours.num_candidates() == theirs->num_candidates());
        }
}

std::vector<float> penalties_after(DryRepeats& repeats, const std::vector<TokenId>& text,
                                   size_t num_vocab) {
    for (const TokenId token : text) repeats.accept(token);
    std::vector<float> penalties(num_vocab, 0.0f);
    if (!repeats.find()) return penalties;
    for (size_t id = 0; id < num_vocab; ++id)
        penalties[id] = repeats.penalty(static_cast<TokenId>(id));
    return penalties;
}

}  // namespace

TEST_CASE("Typical: the tokens nearest to the expected surprise are kept", "[sampling][quick]") {
    // Entropy 1.75 bits. Surprises 1, 2, 3, 3 bits are 0.75, 0.25, 1.25, 1.25 away from it.
    const std::vector<float> logits = logits_of({0.5, 0.25, 0.125, 0.125});
    SamplingOptions options = plain_options();
    options.typical_p = 0.2f;
    CHECK(support_of(options, logits) == std::set<TokenId>{1});
    options.typical_p = 0.26f;
    CHECK(support_of(options, logits) == std::set<TokenId>{0, 1});
    options.typical_p = 0.76f;
    CHECK(support_of(options, logits) == std::set<TokenId>{0, 1, 2});
    options.typical_p = 0.0f;
    CHECK(support_of(options, logits) == std::set<TokenId>{1});
    for (const float mass : {0.1f, 0.5f, 0.9f, 0.99f}) {
        options.typical_p = mass;
        check_kept(options, llama_cpp::Typical{mass, 0});
    }
}

TEST_CASE("Top-n-sigma: logits within some standard deviations of the best are kept",
          "[sampling][quick]") {
    // Mean 2, standard deviation sqrt(2); the forbidden one does not count.
    const std::vector<float> logits{4, 3, 2, 1, 0, -kInfinity};
    SamplingOptions options = plain_options();
    options.top_n_sigma = 0.7f;  // from 3.01
    CHECK(support_of(options, logits) == std::set<TokenId>{0});
    options.top_n_sigma = 0.72f;  // from 2.98
    CHECK(support_of(options, logits) == std::set<TokenId>{0, 1});
    options.top_n_sigma = 1.5f;  // from 1.88
    CHECK(support_of(options, logits) == std::set<TokenId>{0, 1, 2});
    options.top_n_sigma = 100.0f;
    CHECK(support_of(options, logits) == std::set<TokenId>{0, 1, 2, 3, 4});
    options.top_n_sigma = 1.0f;
    CHECK(support_of(options, {1, 1, 1}) == std::set<TokenId>{0, 1, 2});
}

TEST_CASE("XTC: of the likely tokens the least likely one is kept", "[sampling][quick]") {
    const std::vector<float> logits = logits_of({0.4, 0.3, 0.2, 0.06, 0.04});
    SamplingOptions options = plain_options();
    options.xtc_probability = 1.0f;
    options.xtc_threshold = 0.15f;
    CHECK(support_of(options, logits) == std::set<TokenId>{2, 3, 4});
    options.xtc_threshold = 0.25f;
    CHECK(support_of(options, logits) == std::set<TokenId>{1, 2, 3, 4});
    options.xtc_threshold = 0.35f;  // only one is likely
    CHECK(support_of(options, logits) == std::set<TokenId>{0, 1, 2, 3, 4});
    options.xtc_threshold = 0.0f;
    CHECK(support_of(options, logits) == std::set<TokenId>{4});
    SECTION("of equal ones that with the highest id, on lists as on all logits") {
        options.xtc_threshold = 0.3f;
        CHECK(support_of(options, {1, 1, 1}) == std::set<TokenId>{2});
        options.top_k = 3;
        CHECK(support_of(options, {1, 1, 1, -9}) == std::set<TokenId>{2});
    }
    SECTION("as often as it is told to") {
        options.xtc_threshold = 0.35f;
        options.xtc_probability = 0.25f;
        // Two likely tokens: the first one comes in half of the draws in which XTC does not act.
        const int first = counts_of(options, logits_of({0.5, 0.4, 0.1}), 8000)[0];
        CHECK(first > 2800);
        CHECK(first < 3200);
    }
}

TEST_CASE("Dynamic temperature: follows the entropy", "[sampling][quick]") {
    const auto share_of_first = [](const SamplingOptions& options,
                                   const std::vector<float>& logits) {
        SamplingOptions seeded = options;
        return counts_of(seeded, logits, 20'000)[0] / 20'000.0;
    };
    SamplingOptions options = plain_options();
    options.temperature = 1.0f;
    options.dynatemp_range = 0.5f;
    // p = 0.8, 0.2: entropy 0.7219 bits of 1. Temperature 0.5 + 0.7219 = 1.2219, and the odds of 4
    // become 4^(1 / 1.2219) = 3.110.
    CHECK(share_of_first(options, logits_of({0.8, 0.2})) == Approx(3.110 / 4.110).margin(0.012));
    options.dynatemp_exponent = 2.0f;  // 0.5 + 0.5212 = 1.0212: odds of 3.886
    CHECK(share_of_first(options, logits_of({0.8, 0.2})) == Approx(3.886 / 4.886).margin(0.012));
    options.dynatemp_exponent = 0.0f;  // always the highest, 1.5: odds of 2.520
    CHECK(share_of_first(options, logits_of({0.8, 0.2})) == Approx(2.520 / 3.520).margin(0.012));
    SECTION("down to the best token alone") {
        options.temperature = 0.5f;
        options.dynatemp_exponent = 1e6f;
        CHECK(support_of(options, logits_of({0.6, 0.4})) == std::set<TokenId>{0});
        CHECK(support_of(options, {1, 1}) == std::set<TokenId>{0, 1});
        CHECK(support_of(options, {-kInfinity, 3}) == std::set<TokenId>{1});
    }
}

TEST_CASE("Mirostat 2: drops what surprises more than mu and learns from what was drawn",
          "[sampling][quick]") {
    // Surprises 1, 2, 3, 3 bits; mu is 2 tau at first.
    const std::vector<float> logits = logits_of({0.5, 0.25, 0.125, 0.125});
    const auto kept_at_first = [&](float tau) {
        SamplingOptions options = plain_options();
        options.mirostat = 2;
        options.mirostat_tau = tau;
        Sampler sampler = make_sampler(options, logits.size());
        REQUIRE(sampler.sample(logits).ok());
        return sampler.num_candidates();
    };
    CHECK(kept_at_first(0.0f) == 1);
    CHECK(kept_at_first(0.45f) == 1);
    CHECK(kept_at_first(0.55f) == 1);
    CHECK(kept_at_first(1.05f) == 2);
    CHECK(kept_at_first(1.55f) == 4);

    // tau 0.55: the best alone is kept and does not surprise at all, so mu grows by 0.5 * 0.55 at
    // each draw: 1.1, 1.375, 1.65, 1.925, 2.2.
    SamplingOptions options = plain_options();
    options.mirostat = 2;
    options.mirostat_tau = 0.55f;
    options.mirostat_eta = 0.5f;
    Sampler sampler = make_sampler(options, logits.size());
    for (const uint32_t kept : {1u, 1u, 1u, 1u, 2u}) {
        REQUIRE(sampler.sample(logits).ok());
        CHECK(sampler.num_candidates() == kept);
    }
}

TEST_CASE("Mirostat: the surprise of a long text comes near tau", "[sampling][quick]") {
    // Zipf's law with exponent 1.1.
    std::vector<double> probabilities(5000);
    for (size_t i = 0; i < probabilities.size(); ++i)
        probabilities[i] = std::pow(static_cast<double>(i + 1), -1.1);
    const std::vector<float> logits = logits_of(probabilities);
    for (const int32_t version : {1, 2})
        for (const float tau : {2.0f, 4.0f}) {
            SamplingOptions options = plain_options();
            options.mirostat = version;
            options.mirostat_tau = tau;
            options.top_k = 1;  // Mirostat runs instead.
            Sampler sampler = make_sampler(options, logits.size());
            double surprise = 0;
            constexpr int kSkipped = 200, kCounted = 2000;
            for (int i = 0; i < kSkipped + kCounted; ++i) {
                const auto token = static_cast<size_t>(sampler.sample(logits).value());
                // Among the best n of Zipf's law.
                const double kept = std::accumulate(
                    probabilities.begin(), probabilities.begin() + sampler.num_candidates(), 0.0);
                if (i >= kSkipped) surprise -= std::log2(probabilities[token] / kept) / kCounted;
            }
            CAPTURE(version, tau);
            CHECK(surprise == Approx(static_cast<double>(tau)).margin(0.1));
        }
}

TEST_CASE("DRY: a token that lengthens a repetition costs more the longer it is",
          "[sampling][quick]") {
    const auto make = [](int32_t allowed, uint32_t window,
                         std::vector<std::vector<TokenId>> breakers = {}) {
        return DryRepeats({.multiplier = 1.0f,
                           .base = 2.0f,
                           .allowed_length = allowed,
                           .window = window,
                           .num_vocab = 10},
                          breakers);
    };
    SECTION("by hand") {
        // The last three tokens were followed by 4 before; the last one by 2, 4 and 9.
        DryRepeats repeats = make(1, 100);
        const auto penalties = penalties_after(repeats, {1, 2, 3, 4, 3, 9, 3, 2, 1, 2, 3}, 10);
        CHECK(penalties == std::vector<float>{0, 0, 1, 0, 4, 0, 0, 0, 0, 1});
    }
    SECTION("shorter ones than allowed cost nothing") {
        DryRepeats repeats = make(3, 100);
        CHECK(penalties_after(repeats, {1, 2, 3, 4, 3, 9, 1, 2, 3}, 10)[4] == 1);
        DryRepeats stricter = make(4, 100);
        CHECK(penalties_after(stricter, {1, 2, 3, 4, 3, 9, 1, 2, 3}, 10)[4] == 0);
    }
    SECTION("what left the window is forgotten") {
        DryRepeats repeats = make(1, 4);
        CHECK(penalties_after(repeats, {1, 2, 3, 5, 6, 1}, 10) == std::vector<float>(10, 0.0f));
        DryRepeats none = make(1, 0);
        CHECK(penalties_after(none, {1, 1, 1, 1}, 10) == std::vector<float>(10, 0.0f));
    }
    SECTION("no repetition reaches across a breaker, which is never penalised itself") {
        DryRepeats repeats = make(1, 100, {{7}});
        const auto penalties = penalties_after(repeats, {1, 2, 7, 3, 4, 1, 2, 7, 3}, 10);
        CHECK(penalties[4] == 1);  // of the four tokens that repeat only the last one counts
        DryRepeats before = make(1, 100, {{7}});
        CHECK(penalties_after(before, {1, 2, 7, 1, 2}, 10)[7] == 0);
        DryRepeats longer = make(1, 100, {{2, 7}});
        CHECK(penalties_after(longer, {1, 2, 7, 3, 4, 1, 2, 7, 3}, 10)[4] == 1);
        CHECK(make(1, 100).penalty(4) == 0);  // before any search
    }
    SECTION("one token over and over, up to the largest float") {
        DryRepeats repeats({.multiplier = 1.0f,
                            .base = 3.0f,
                            .allowed_length = 2,
                            .window = 1000,
                            .num_vocab = 10},
                           {});
        const auto penalties = penalties_after(repeats, std::vector<TokenId>(500, 5), 10);
        // 3^(499 - 2) is beyond float32: the exponent ends at 88.7 / ln 3.
        CHECK(penalties[5] == static_cast<float>(std::pow(3.0, 80.0)));
    }
}

TEST_CASE("DRY: in the chain, on all logits and on lists", "[sampling][quick]") {
    SamplingOptions options = plain_options();
    options.temperature = 0.0f;
    options.dry_multiplier = 1.0f;
    const auto next = [&](std::vector<TokenId> text) {
        Sampler sampler = make_sampler(options, 6);
        for (const TokenId token : text) sampler.accept(token);
        return sampler.sample(std::vector<float>{0, 0, 0, 0, 3, 2.5f}).value();
    };
    CHECK(next({1, 2, 4, 1, 2}) == 5);  // 1.75^0 is subtracted from 3
    CHECK(next({1, 2, 3, 1, 2}) == 4);
    CHECK(next({}) == 4);
    options.dry_last_n = 3;
    CHECK(next({1, 2, 4, 1, 2}) == 4);
    options.dry_last_n = 0;
    CHECK(next({1, 2, 4, 1, 2}) == 4);
    options.dry_last_n = -1;
    options.temperature = 1e-3f;
    options.top_k = 2;
    options.order = {SamplerStep::top_k, SamplerStep::dry, SamplerStep::temperature};
    CHECK(next({1, 2, 4, 1, 2}) == 5);
}

TEST_CASE("Sampler: llama.cpp's mode draws what its chain draws", "[sampling][quick]") {
    const std::vector<float> logits = random_logits(500, 4);
    const auto check_same = [&](const SamplingOptions& options,
                                std::vector<llama_cpp::Element> elements) {
        Sampler sampler = make_sampler(options, logits.size());
        auto chain = llama_cpp::Chain::create(
            {.elements = std::move(elements), .seed = 9, .num_vocab = 500, .max_history = 10'000});
        REQUIRE(chain.ok());
        for (int i = 0; i < 50; ++i) {
            const TokenId token = sampler.sample(logits).value();
            REQUIRE(token == chain->sample(logits).value());
            sampler.accept(token);
            chain->accept(token);
        }
    };
    SamplingOptions options;
    options.mode = SamplerMode::llama_cpp;
    options.seed = 9;
    SECTION("by default without a repeat penalty") {
        check_same(options, {llama_cpp::TopK{40}, llama_cpp::TopP{0.95f, 0},
                             llama_cpp::MinP{0.05f, 0}, llama_cpp::Temp{0.8f}, llama_cpp::Dist{}});
    }
    SECTION("with everything, in the given order") {
        options.repeat_penalty = 1.2f;
        options.penalty_last_n = -1;
        options.xtc_probability = 0.5f;
        options.xtc_threshold = 0.02f;
        options.typical_p = 0.9f;
        options.top_n_sigma = 2.0f;
        options.dynatemp_range = 0.3f;
        options.dry_multiplier = 0.5f;
        options.dry_breakers.clear();
        options.logit_bias = {{7, 2.0f}};
        options.order = {SamplerStep::temperature, SamplerStep::xtc,
                         SamplerStep::dry,         SamplerStep::typical,
                         SamplerStep::penalties,   SamplerStep::top_n_sigma};
        check_same(options,
                   {llama_cpp::LogitBias{{{7, 2.0f}}}, llama_cpp::TempExt{0.8f, 0.3f, 1.0f},
                    llama_cpp::Xtc{0.5f, 0.02f, 0}, llama_cpp::Dry{0.5f, 1.75f, 2, 10'000, {}},
                    llama_cpp::Typical{0.9f, 0}, llama_cpp::Penalties{10'000, 1.2f, 0, 0},
                    llama_cpp::TopNSigma{2.0f}, llama_cpp::Dist{}});
    }
    SECTION("Mirostat takes the temperature alone") {
        options.mirostat = 1;
        options.repeat_penalty = 2.0f;
        check_same(options, {llama_cpp::Temp{0.8f}, llama_cpp::Mirostat{5.0f, 0.1f, 100}});
        options.mirostat = 2;
        check_same(options, {llama_cpp::Temp{0.8f}, llama_cpp::MirostatV2{5.0f, 0.1f}});
    }
    SECTION("temperature 0 takes the best") {
        options.temperature = 0.0f;
        check_same(options, {llama_cpp::Greedy{}});
    }
}

TEST_CASE("DRY: a breaker is found in every token in which it begins", "[sampling][quick]") {
    const auto tokenizer = testing::open_tiny(testing::tiny_bpe());
    const auto find = [&](std::vector<std::string> texts) {
        const auto found = find_dry_breakers(texts, *tokenizer);
        return std::set<std::vector<TokenId>>(found.begin(), found.end());
    };
    using Sequences = std::set<std::vector<TokenId>>;
    // In he, hell and hello; h or " h" may be its beginning.
    CHECK(find({"he"}) == Sequences{{256}, {258}, {259}, {'h', 'e'}, {260, 'e'}});
    CHECK(find({"\n"}) == Sequences{{'\n'}, {261}});
    CHECK(find({"aaa"}) == Sequences{{267}, {'a', 266}, {266, 'a'}, {266, 266}, {267}});
    CHECK(find({}).empty());
    CHECK(find({"|"}) == Sequences{{'|'}, {262}});

    SamplingOptions options = plain_options();
    options.dry_multiplier = 1.0f;
    options.dry_breakers = {"he"};
    const auto size = static_cast<uint32_t>(tokenizer->num_tokens());
    CHECK(Sampler::create(options, size, 10, tokenizer.get()).ok());
    const auto without = Sampler::create(options, size, 10);
    REQUIRE_FALSE(without.ok());
    CHECK(without.error().where == "dry_breakers");
}
