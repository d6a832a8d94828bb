// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "text/tiny_vocabulary.h"

using hokku::PromptPart;
using hokku::TokenId;
using hokku::testing::open_tiny;
using hokku::testing::tiny_sentencepiece;
using Ids = std::vector<TokenId>;

namespace {

constexpr TokenId byte_token(unsigned byte) {
    return static_cast<TokenId>(3 + byte);
}

std::string random_text(std::mt19937& random, size_t num_characters) {
    constexpr std::array<const char*, 6> kCharacters = {"a", "b",        "c",
                                                        " ", "\xC3\xA9", "\xF0\x9F\x8D\x81"};
    std::string text;
    for (size_t k = 0; k < num_characters; ++k) text += kCharacters[random() % kCharacters.size()];
    return text;
}

Ids encode(const hokku::Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
    auto ids = tokenizer.encode(text, {.parse_special = parse_special, .add_special = false});
    REQUIRE(ids.ok());
    return *ids;
}

using Tokens = std::vector<hokku::testing::TinyToken>;

/// Pieces of up to four characters, some of which only serve as steps, with scores in any order.
Tokens random_pieces(std::mt19937& random, bool has_bytes) {
    Tokens tokens = {{"<unk>", hokku::testing::kUnknown}};
    for (int byte = 0; has_bytes && byte < 256; ++byte)
        tokens.push_back({fmt::format("<0x{:02X}>", byte), hokku::testing::kByte});
    for (size_t k = 0; k < 120; ++k) {
        const auto kind = random() % 4 == 0 ? hokku::testing::kUnused : hokku::testing::kNormal;
        const float score = -static_cast<float>(random() % 40);
        tokens.push_back({random_text(random, 1 + random() % 4), kind, score});
    }
    return tokens;
}

std::shared_ptr<const hokku::Tokenizer> open_pieces(const Tokens& tokens) {
    auto file = hokku::testing::vocabulary_file("llama", tokens);
    file.set("tokenizer.ggml.add_space_prefix", false);
    return open_tiny(file);
}

}  // namespace

TEST_CASE("SentencePieceTokenizer: a text's own pieces give what all pieces give",
          "[text][quick]") {
    std::mt19937 random(7);
    for (int k = 0; k < 20; ++k) {
        const Tokens tokens = random_pieces(random, k % 2 == 0);
        Tokens with_long_piece = tokens;  // For which all are loaded at once.
        with_long_piece.push_back({std::string(300, 'z')});
        const auto of_all = open_pieces(with_long_piece);
        for (int j = 0; j < 20; ++j) {
            const std::string text = random_text(random, 1 + random() % 60);
            INFO(text);
            CHECK(encode(*open_pieces(tokens), text) == encode(*of_all, text));
        }
    }
}

TEST_CASE("SentencePieceTokenizer: later texts give what the first one does", "[text][quick]") {
    std::mt19937 random(9);
    const auto tokenizer = open_pieces(random_pieces(random, true));
    const std::string text = random_text(random, 50);
    const Ids first = encode(*tokenizer, text);
    encode(*tokenizer, random_text(random, 20000));
    CHECK(encode(*tokenizer, text) == first);
}

TEST_CASE("SentencePieceTokenizer: bytes that the library refuses are told on opening",
          "[text][quick]") {
    Tokens tokens = {{"<unk>", hokku::testing::kUnknown}};
    for (int byte = 0; byte < 256; ++byte)
        tokens.push_back({fmt::format("<0x{:02x}>", byte), hokku::testing::kByte});
    std::string message;
    try {
        (void)open_pieces(tokens);
    } catch (const std::runtime_error& error) {
        message = error.what();
    }
    INFO(message);
    CHECK(message.find("<0x0a>") != std::string::npos);
    CHECK(message.find("tokenizer.ggml.tokens") != std::string::npos);
}

TEST_CASE("SentencePieceTokenizer: names that collide in the library are refused",
          "[text][quick]") {
    constexpr int kNumNames = 100;
    std::unordered_set<int> table;  // Grows as any other.
    for (int k = 0; k <= kNumNames; ++k) table.insert(k);
    std::mt19937 random(10);
    Tokens tokens = {{"<unk>", hokku::testing::kUnknown}};
    while (tokens.size() <= kNumNames) {
        std::string name(12, 'a');
        for (char& c : name) c = static_cast<char>('a' + random() % 26);
        if (std::hash<std::string_view>()(name) % table.bucket_count() == 5)
            tokens.push_back({name});
    }
    const auto tokenizer = open_pieces(tokens);
    const auto ids = tokenizer->encode(std::string(5000, 'a'), {.add_special = false});
    REQUIRE_FALSE(ids.ok());
    CHECK(ids.error().code == hokku::ErrorCode::bad_format);
    CHECK(ids.error().where.find("tokenizer.ggml.tokens") != std::string::npos);
}

TEST_CASE("SentencePieceTokenizer: threads may encode at once from the first text on",
          "[text][threads][quick]") {
    std::mt19937 random(8);
    const Tokens tokens = random_pieces(random, true);
    const std::string text = random_text(random, 1000);
    const Ids wanted = encode(*open_pieces(tokens), text);
    const auto tokenizer = open_pieces(tokens);
    std::array<Ids, 4> found;
    {
        std::vector<std::jthread> threads;
        for (Ids& ids : found)
            threads.emplace_back([&] {
                for (int k = 0; k < 5; ++k)
                    ids = *tokenizer->encode(text, {.parse_special = false, .add_special = false});
            });
    }
    for (const Ids& ids : found) CHECK(ids == wanted);
}

TEST_CASE("SentencePieceTokenizer: pieces merge by score, unknown ones to bytes", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_sentencepiece());
    CHECK(encode(*tokenizer, "") == Ids{});
    CHECK(encode(*tokenizer, "hi hi") == Ids{262, 263});
    CHECK(encode(*tokenizer, "ho") == Ids{260, 264});
    CHECK(encode(*tokenizer, "x") == Ids{byte_token('x')});
    CHECK(encode(*tokenizer, "\xC3\xA9") == Ids{byte_token(0xC3), byte_token(0xA9)});
    CHECK(tokenizer->model_kind() == "spm");
}

TEST_CASE("SentencePieceTokenizer: runs of user-defined pieces match longest first",
          "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_sentencepiece());
    CHECK(encode(*tokenizer, "\n\n\n") == Ids{266, 265});
    // Three spaces are the run of two, then one that joins the word. A typed U+2581 is a space.
    CHECK(encode(*tokenizer, "   hi") == Ids{269, 263});
    CHECK(encode(*tokenizer, "\xE2\x96\x81\xE2\x96\x81 hi") == Ids{269, 263});
}

TEST_CASE("SentencePieceTokenizer: the prefix goes before every stretch", "[text][quick]") {
    auto file = tiny_sentencepiece();
    file.set("tokenizer.ggml.add_space_prefix", true);
    const auto tokenizer = open_tiny(file);
    CHECK(encode(*tokenizer, "") == Ids{});
    CHECK(encode(*tokenizer, "hi") == Ids{263});
    CHECK(encode(*tokenizer, "hi<eot>hi", true) == Ids{263, 268, 263});
    CHECK(encode(*tokenizer, "hi\nhi") == Ids{263, 265, 262});
    CHECK(tokenizer->decode(Ids{263, 263}, false) == "hi hi");
    // Without the key the prefix is the default.
    file.remove("tokenizer.ggml.add_space_prefix");
    CHECK(encode(*open_tiny(file), "hi") == Ids{263});
}

TEST_CASE("SentencePieceTokenizer: content of a prompt cannot become a marker", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_sentencepiece());
    const auto parts = [&](const std::vector<PromptPart>& prompt) {
        auto ids = tokenizer->encode_parts(prompt, true);
        REQUIRE(ids.ok());
        return *ids;
    };
    const Ids img_text = {byte_token('<'), 261, byte_token('m'), byte_token('g'), byte_token('>')};
    Ids wanted = {1, 267};  // BOS, which is the default for these models
    wanted.insert(wanted.end(), img_text.begin(), img_text.end());
    wanted.push_back(268);
    CHECK(parts({{"<img>", false}, {"<img>", true}, {"<eot>", false}}) == wanted);
    CHECK(parts({{"<s>hi", false}}) == Ids{1, 262});
    CHECK(parts({{"hi \n", true}, {"\nhi", false}}) == Ids{1, 262, 259, 266, 262});
    CHECK(encode(*tokenizer, "<eot>", true) == Ids{268});
    CHECK(encode(*tokenizer, "<img>") == Ids{267});
}

TEST_CASE("SentencePieceTokenizer: long text is cut at words only", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_sentencepiece());
    std::string text;
    Ids wanted;
    for (int k = 0; k < 5000; ++k) {
        text += " hi";
        wanted.push_back(263);
    }
    CHECK(encode(*tokenizer, text) == wanted);
}

TEST_CASE("SentencePieceTokenizer: broken bytes are U+FFFD in and out", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_sentencepiece());
    const Ids mark = {byte_token(0xEF), byte_token(0xBF), byte_token(0xBD)};
    CHECK(encode(*tokenizer, "\xE6\xAD") == mark);
    CHECK(encode(*tokenizer, "\xFF") == mark);
    CHECK(tokenizer->decode(mark, false) == "\xEF\xBF\xBD");
    CHECK(tokenizer->decode(Ids{byte_token(0xE6), byte_token(0xAD)}, false) ==
          "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(tokenizer->decode(Ids{byte_token(0xE6), 262, byte_token(0xAD)}, false) ==
          "\xEF\xBF\xBDhi\xEF\xBF\xBD");
}

TEST_CASE("SentencePieceTokenizer: tokens can be looked up both ways", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_sentencepiece());
    CHECK(tokenizer->find_token("\xE2\x96\x81hi") == TokenId{263});
    CHECK(tokenizer->find_token("<eot>") == TokenId{268});
    CHECK(tokenizer->token_bytes(263, false) == " hi");
    CHECK(tokenizer->token_bytes(byte_token(0x41), false) == "A");
    CHECK(tokenizer->token_bytes(268, false).empty());
    CHECK(tokenizer->token_bytes(268, true) == "<eot>");
    CHECK(tokenizer->special().unknown == TokenId{0});
    CHECK(tokenizer->special().add_bos);
    CHECK(tokenizer->special().end_of_generation == Ids{2});
}

TEST_CASE("SentencePieceTokenizer: a vocabulary without bytes or unknown works", "[text][quick]") {
    const std::vector<hokku::testing::TinyToken> tokens = {{"a", hokku::testing::kNormal, -1},
                                                           {"b", hokku::testing::kNormal, -2},
                                                           {"ab", hokku::testing::kNormal, -3}};
    auto file = hokku::testing::vocabulary_file("llama", tokens);
    file.set("tokenizer.ggml.add_space_prefix", false);
    const auto tokenizer = open_tiny(file);
    CHECK(encode(*tokenizer, "abxb") == Ids{2, 1});
    CHECK_FALSE(tokenizer->special().unknown.has_value());
    CHECK_FALSE(tokenizer->special().bos.has_value());
}

TEST_CASE("SentencePieceTokenizer: the unknown token may be a text of its own", "[text][quick]") {
    const std::vector<hokku::testing::TinyToken> tokens = {{"?", hokku::testing::kNormal, -1},
                                                           {"a", hokku::testing::kNormal, -2}};
    auto file = hokku::testing::vocabulary_file("llama", tokens);
    file.set("tokenizer.ggml.add_space_prefix", false);
    file.set<uint32_t>("tokenizer.ggml.unknown_token_id", 0);
    CHECK(encode(*open_tiny(file), "a?axy") == Ids{1, 0, 1, 0});  // a run of unknowns is one
    auto bytes = tiny_sentencepiece();
    bytes.set<uint32_t>("tokenizer.ggml.unknown_token_id", 70);
    CHECK(encode(*open_tiny(bytes), "x") == Ids{byte_token('x')});
}

TEST_CASE("SentencePieceTokenizer: equal and empty pieces do no harm", "[text][quick]") {
    auto tokens = std::vector<hokku::testing::TinyToken>{{"<unk>", hokku::testing::kUnknown},
                                                         {"a"},
                                                         {"a"},
                                                         {""},
                                                         {"\xE2\x96\x81"},
                                                         {" "},
                                                         {std::string("\0b", 2)},
                                                         {"\xFF"},
                                                         {"x", hokku::testing::kUnknown},
                                                         {"", hokku::testing::kUserDefined},
                                                         {"b", hokku::testing::kUnused}};
    auto file = hokku::testing::vocabulary_file("llama", tokens);
    file.set("tokenizer.ggml.add_space_prefix", false);
    const auto tokenizer = open_tiny(file);
    CHECK(encode(*tokenizer, "a a") == Ids{1, 4, 1});
    for (TokenId id = -1; id < 12; ++id) (void)tokenizer->decode(Ids{id}, true);
}
