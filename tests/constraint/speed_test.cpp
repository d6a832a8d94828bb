// SPDX-License-Identifier: Apache-2.0
// What a constraint may cost: less than a millisecond a token on average at 150,000 tokens.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "constraint/test_vocabulary.h"
#include "gguf/gguf_file.h"
#include "sampling/sampler.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/time_limits.h"
#include "text/tokenizer/tokenizer_factory.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// The text as the longest tokens that fit.
std::vector<TokenId> cut_into_tokens(const ConstraintVocabulary& vocabulary,
                                     const std::string& text) {
    std::vector<TokenId> tokens;
    for (size_t pos = 0; pos < text.size();) {
        size_t length = std::min<size_t>(16, text.size() - pos);
        std::optional<TokenId> found;
        for (; length > 0 && !found; --length)
            found = vocabulary.tokenizer().find_token(text.substr(pos, length));
        REQUIRE(found.has_value());
        tokens.push_back(*found);
        pos += length + 1;
    }
    return tokens;
}

struct Times {
    double mean_ms = 0, max_ms = 0;
    size_t num_tokens = 0;
};

/// Follows the text from the beginning.
Times measure(Constraint& constraint, TokenMask& mask, const std::vector<TokenId>& tokens) {
    Times times;
    for (const TokenId token : tokens) {
        const auto begin = std::chrono::steady_clock::now();
        REQUIRE(constraint.allowed_tokens(mask).ok());
        const auto accepted = constraint.accept(token);
        const bool is_missing = !constraint.missing_text().empty();
        const std::chrono::duration<double, std::milli> spent =
            std::chrono::steady_clock::now() - begin;
        if (!accepted.ok()) FAIL(accepted.error().message());
        REQUIRE(mask.test(static_cast<size_t>(token)));
        REQUIRE(is_missing == !constraint.missing_text().empty());
        times.mean_ms += spent.count();
        times.max_ms = std::max(times.max_ms, spent.count());
        ++times.num_tokens;
    }
    times.mean_ms /= static_cast<double>(tokens.size());
    return times;
}

/// The first time counts as well as the second, when all that is remembered is there.
void check_fast(const ConstraintSpec& spec,
                const std::shared_ptr<const ConstraintVocabulary>& vocabulary,
                const std::string& text) {
    auto constraint = must_make(spec, vocabulary);
    auto encoded = vocabulary->tokenizer().encode(text, {});
    const auto tokens = encoded.ok() ? *encoded : cut_into_tokens(*vocabulary, text);
    TokenMask mask(vocabulary->num_tokens());
    for (const char* round : {"first", "second"}) {
        const Times times = measure(*constraint, mask, tokens);
        constraint->rollback(tokens.size());
        INFO(spec.text << "\n"
                       << round << " time: " << times.num_tokens << " tokens, mean "
                       << times.mean_ms << " ms, longest " << times.max_ms << " ms");
        CHECK(times.mean_ms < 1.0 * hokku::testing::kTimeFactor);
    }
}

std::string sample_json() {
    std::string text = "[";
    for (int i = 0; i < 60; ++i) {
        if (i > 0) text += ", ";
        text += "{\"id\": " + std::to_string(i * 37) +
                ", \"name\": \"some words that go on for a while \xE4\xB8\xAD\xE5\x9B\xBD " +
                std::to_string(i) + "\", \"tags\": [\"red\", \"a\\nb\", null, true, -1.5], " +
                "\"nested\": {\"depth\": {\"more\": [[[]]]}}}";
    }
    return text + "]";
}

/// A schema of sample_json() with bounds of all kinds.
const char* const kSampleSchema = R"({
    "type": "array", "minItems": 5, "maxItems": 100, "items": {
        "type": "object", "properties": {
            "id": {"type": "integer", "minimum": 0, "maximum": 5000},
            "name": {"type": "string", "minLength": 3, "maxLength": 80},
            "tags": {"type": "array", "maxItems": 8, "items": {"anyOf": [
                {"enum": ["red", "green"]}, {"type": "string", "pattern": "^a\\n[a-z]+$"},
                {"type": ["null", "boolean"]}, {"type": "number", "maximum": 1e6}]}},
            "nested": {"type": "object", "additionalProperties": true}},
        "required": ["id", "name"]}})";

std::shared_ptr<const ConstraintVocabulary> large_vocabulary() {
    static const auto vocabulary = synthetic_vocabulary(150'000);
    return vocabulary;
}

ConstraintSpec json() {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::json;
    return spec;
}

}  // namespace

TEST_CASE("Constraint: JSON takes less than a millisecond a token", "[constraint][serial]") {
    check_fast(json(), large_vocabulary(), sample_json());
}

TEST_CASE("Constraints: JSON in which words must occur takes less than a millisecond a token",
          "[constraint][serial]") {
    const auto vocabulary = synthetic_vocabulary(151'936);
    ConstraintSpec words;
    words.kind = ConstraintKind::required_words;
    words.words = {"nested", "go on for a while", "not to be found", "nor this"};
    std::vector<std::unique_ptr<Constraint>> parts;
    parts.push_back(must_make(json(), vocabulary));
    parts.push_back(must_make(words, vocabulary));
    const auto both = combine_constraints(std::move(parts));
    const auto tokens = cut_into_tokens(*vocabulary, sample_json());
    TokenMask mask(vocabulary->num_tokens());
    const Times times = measure(*both, mask, tokens);
    INFO(times.num_tokens << " tokens, mean " << times.mean_ms << " ms, longest " << times.max_ms);
    CHECK(both->missing_text() == " not to be found nor this");
    CHECK(times.mean_ms < 1.0 * hokku::testing::kTimeFactor);
}

TEST_CASE("Constraint: grammars and counters take less than a millisecond a token",
          "[constraint][serial]") {
    std::string words;
    for (int i = 0; i < 100; ++i) words += "lorem ipsum dolor sit amet ";
    ConstraintSpec spec;
    spec.kind = ConstraintKind::gbnf;
    spec.text = "root ::= (word \" \"){0,2000}\nword ::= [a-z]+";
    check_fast(spec, large_vocabulary(), words);
    spec.text = "root ::= [^\\n]{0,3000}";
    check_fast(spec, large_vocabulary(), words);
    spec.text = "root ::= ([a-z]{1,12} \" \"){10,600}";
    check_fast(spec, large_vocabulary(), words);
    spec.text = "root ::= (letter | \" \")*\nletter ::= [a-z]";
    check_fast(spec, large_vocabulary(), words);
    spec.kind = ConstraintKind::regex;
    spec.text = "((\\w+|\\w+-\\w+)\\s){10,600}";
    check_fast(spec, large_vocabulary(), words);
}

TEST_CASE("Constraint: a JSON schema takes less than a millisecond a token",
          "[constraint][serial]") {
    ConstraintSpec schema;
    schema.kind = ConstraintKind::json_schema;
    schema.text = kSampleSchema;
    check_fast(schema, large_vocabulary(), sample_json());
}

TEST_CASE("Constraint: JSON with the vocabulary of a model", "[constraint][model]") {
    for (const char* name : {"qwen2", "gemma3", "smollm2"}) {
        const auto path = find_model(name);
        if (!path) return report_skip("model " + std::string(name) + " is not there");
        const auto file = GgufFile::open(*path);
        REQUIRE(file.ok());
        auto tokenizer = make_tokenizer(file->metadata());
        REQUIRE(tokenizer.ok());
        auto vocabulary = ConstraintVocabulary::create(*tokenizer);
        REQUIRE(vocabulary.ok());
        INFO(name << ", " << (*vocabulary)->num_tokens() << " tokens");
        check_fast(json(), *vocabulary, sample_json());
        ConstraintSpec schema;
        schema.kind = ConstraintKind::json_schema;
        schema.text = kSampleSchema;
        check_fast(schema, *vocabulary, sample_json());
        ConstraintSpec counted;
        counted.kind = ConstraintKind::gbnf;
        counted.text = "root ::= \"[\" ([^\\[\\]] | root){0,9000} \"]\"";
        check_fast(counted, *vocabulary, sample_json());
    }
}

TEST_CASE("Constraints: mask, masked logits and draw take less than a millisecond",
          "[constraint][serial]") {
    const auto vocabulary = synthetic_vocabulary(151'936);
    ConstraintSpec spec;
    spec.kind = ConstraintKind::json;
    auto constraint = must_make(spec, vocabulary);
    const auto tokens = cut_into_tokens(*vocabulary, sample_json());
    TokenMask mask(vocabulary->num_tokens());
    std::vector<float> given(vocabulary->num_tokens()), logits(given.size());
    uint64_t state = 1;
    for (float& logit : given) logit = static_cast<float>(split_mix(state) % 4096) / 256.0f;
    Sampler sampler = Sampler::create({}, static_cast<uint32_t>(given.size()), 10'000).value();
    for (const char* round : {"first", "second"}) {
        const auto begin = std::chrono::steady_clock::now();
        for (const TokenId token : tokens) {
            std::copy(given.begin(), given.end(), logits.begin());
            REQUIRE(constrain_logits(*constraint, mask, logits).ok());
            REQUIRE(sampler.sample(logits).ok());
            REQUIRE(constraint->accept(token).ok());
        }
        const std::chrono::duration<double, std::milli> spent =
            std::chrono::steady_clock::now() - begin;
        constraint->rollback(tokens.size());
        const double mean_ms = spent.count() / static_cast<double>(tokens.size());
        INFO(round << " time: " << tokens.size() << " tokens, mean " << mean_ms << " ms");
        CHECK(mean_ms < 1.0 * hokku::testing::kTimeFactor);
    }
}
