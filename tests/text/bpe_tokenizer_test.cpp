// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "text/tiny_vocabulary.h"

using hokku::PromptPart;
using hokku::TokenId;
using hokku::TokenKind;
using hokku::testing::open_tiny;
using hokku::testing::tiny_bpe;
using Ids = std::vector<TokenId>;

namespace {

Ids encode(const hokku::Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
    auto ids = tokenizer.encode(text, {.parse_special = parse_special, .add_special = false});
    REQUIRE(ids.ok());
    return *ids;
}

Ids encode_parts(const hokku::Tokenizer& tokenizer, const std::vector<PromptPart>& parts) {
    auto ids = tokenizer.encode_parts(parts, false);
    REQUIRE(ids.ok());
    return *ids;
}

}  // namespace

TEST_CASE("BpeTokenizer: pairs merge by rank, the leftmost first", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_bpe());
    CHECK(encode(*tokenizer, "") == Ids{});
    CHECK(encode(*tokenizer, "hello") == Ids{259});
    // " "+h comes after h+e in rank, so the space stays alone.
    CHECK(encode(*tokenizer, " hello") == Ids{' ', 259});
    CHECK(encode(*tokenizer, " h") == Ids{260});
    CHECK(encode(*tokenizer, "hel") == Ids{256, 'l'});
    CHECK(encode(*tokenizer, "lll") == Ids{257, 'l'});
    CHECK(encode(*tokenizer, "aaaaaaa") == Ids{267, 266, 'a'});
    CHECK(encode(*tokenizer, "hellohello hello") == Ids{259, 259, ' ', 259});
    CHECK(encode(*tokenizer, "\xC3\xA9") == Ids{0xC3, 0xA9});
}

TEST_CASE("BpeTokenizer: a long piece merges as its short parts do", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_bpe());
    // 48 symbols and fewer take another way than more.
    for (size_t length = 1; length < 140; ++length) {
        Ids wanted(length / 4, 267);
        if (length % 4 >= 2) wanted.push_back(266);
        if (length % 2 == 1) wanted.push_back('a');
        CHECK(encode(*tokenizer, std::string(length, 'a')) == wanted);
    }
    std::string text;
    Ids wanted;
    for (int k = 0; k < 100; ++k) {
        text += "hellox";
        wanted.insert(wanted.end(), {259, 'x'});
        CHECK(encode(*tokenizer, text) == wanted);
    }
}

TEST_CASE("BpeTokenizer: control text becomes a token only when asked for", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_bpe());
    CHECK(encode(*tokenizer, "he<|end|>", true) == Ids{256, 262});
    CHECK(encode(*tokenizer, "<|end|>", false) == Ids{'<', '|', 'e', 'n', 'd', '|', '>'});
    // User-defined tokens are taken from raw text in both modes, the longest first.
    for (const bool parse_special : {false, true}) {
        CHECK(encode(*tokenizer, "a\n\n\nb", parse_special) == Ids{'a', 261, '\n', 'b'});
        CHECK(encode(*tokenizer, "<tool>", parse_special) == Ids{263});
    }
}

TEST_CASE("BpeTokenizer: content of a prompt cannot become a marker", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_bpe());
    const Ids end_text = {'<', '|', 'e', 'n', 'd', '|', '>'};
    const Ids tool_text = {'<', 't', 'o', 'o', 'l', '>'};
    CHECK(encode_parts(*tokenizer, {{"<|end|>", false}}) == Ids{262});
    CHECK(encode_parts(*tokenizer, {{"<|end|>", true}}) == end_text);
    CHECK(encode_parts(*tokenizer, {{"<tool>", false}}) == Ids{263});
    CHECK(encode_parts(*tokenizer, {{"<tool>", true}}) == tool_text);
    // A marker that is put together from both is none.
    CHECK(encode_parts(*tokenizer, {{"<|en", false}, {"d|>", true}}) == end_text);
    CHECK(encode_parts(*tokenizer, {{"<|en", true}, {"d|>", false}}) == end_text);
    // Template text that the template wrote in two goes is one text.
    CHECK(encode_parts(*tokenizer, {{"<|en", false}, {"d|>", false}}) == Ids{262});
    // Newline runs and HTML tags are what the model saw in its training texts.
    CHECK(encode_parts(*tokenizer, {{"\n\n<b>", true}}) == Ids{261, 264});
    CHECK(encode_parts(*tokenizer, {{"a\n", true}, {"\nb", false}}) == Ids{'a', 261, 'b'});
    CHECK(encode_parts(*tokenizer, {{"<b", true}, {">", false}}) == Ids{'<', 'b', '>'});
    // Merges go over the border of parts.
    CHECK(encode_parts(*tokenizer, {{"hel", false}, {"lo", true}}) == Ids{259});
    CHECK(encode_parts(*tokenizer, {}) == Ids{});
}

TEST_CASE("BpeTokenizer: an HTML tag that the template writes is a marker", "[text][quick]") {
    auto file = tiny_bpe();
    file.set_string("tokenizer.chat_template", "{{ '<b>' + messages[0].content }}");
    const auto tokenizer = open_tiny(file);
    CHECK(encode_parts(*tokenizer, {{"<b>", true}}) == Ids{'<', 'b', '>'});
    CHECK(encode_parts(*tokenizer, {{"<b>", false}}) == Ids{264});
}

TEST_CASE("BpeTokenizer: BOS and EOS come where the file says so, once", "[text][quick]") {
    auto file = tiny_bpe();
    file.set<uint32_t>("tokenizer.ggml.bos_token_id", 10);
    file.set<uint32_t>("tokenizer.ggml.eos_token_id", 262);
    file.set("tokenizer.ggml.add_bos_token", true);
    file.set("tokenizer.ggml.add_eos_token", true);
    const auto tokenizer = open_tiny(file);
    CHECK(*tokenizer->encode("x", {.parse_special = false, .add_special = true}) ==
          Ids{10, 'x', 262});
    CHECK(*tokenizer->encode("x", {.parse_special = false, .add_special = false}) == Ids{'x'});
    CHECK(*tokenizer->encode_parts(std::vector<PromptPart>{{"\nx<|end|>", false}}, true) ==
          Ids{10, 'x', 262});
    CHECK(*tokenizer->encode("", {.parse_special = false, .add_special = true}) == Ids{10, 262});
}

TEST_CASE("BpeTokenizer: tokens can be looked up both ways", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_bpe());
    CHECK(tokenizer->num_tokens() == 268);
    CHECK(tokenizer->find_token("hello") == TokenId{259});
    CHECK(tokenizer->find_token("<|end|>") == TokenId{262});
    CHECK(tokenizer->find_token(hokku::testing::byte_character(' ') + "h") == TokenId{260});
    CHECK_FALSE(tokenizer->find_token(" h").has_value());
    CHECK(tokenizer->token_text(260) == hokku::testing::byte_character(' ') + "h");
    CHECK(tokenizer->token_bytes(260, false) == " h");
    CHECK(tokenizer->token_bytes(262, false).empty());
    CHECK(tokenizer->token_bytes(262, true) == "<|end|>");
    CHECK(tokenizer->kind(262) == TokenKind::control);
    CHECK(tokenizer->kind(263) == TokenKind::user_defined);
    CHECK(tokenizer->kind(-1) == TokenKind::unused);
    CHECK(tokenizer->kind(268) == TokenKind::unused);
    CHECK(tokenizer->token_text(268).empty());
    CHECK(tokenizer->decode(Ids{259, -5, 268, 1 << 30, 260}, false) == "hello h");
    CHECK(tokenizer->model_kind() == "bpe");
    CHECK(tokenizer->pre_tokenizer() == "gpt-2");
    CHECK(tokenizer->special().end_of_generation == Ids{262});
}

TEST_CASE("BpeTokenizer: any bytes come back from their tokens", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_bpe());
    const auto round_trip = [&](const std::string& bytes) {
        std::string back;
        for (const TokenId id : encode(*tokenizer, bytes))
            back += tokenizer->token_bytes(id, false);
        return back == bytes;
    };
    // Every start of a character of one to four bytes, also within text.
    const std::string continuation[] = {"", "\x80", "\x80\x80", "\x80\x80\x80", "\xBF\xBF\xBF",
                                        "a"};
    for (int lead = 0; lead < 256; ++lead)
        for (const std::string& rest : continuation)
            for (const char* after : {"", "hello", "\xC3\xA9"}) {
                const std::string bytes = std::string(1, static_cast<char>(lead)) + rest + after;
                if (!round_trip(bytes)) FAIL("lead byte " << lead);
            }
    CHECK(round_trip("\xED\xA0\x80"));
    CHECK(round_trip(std::string("a\0b", 3)));
}

TEST_CASE("BpeTokenizer: a byte without a token is left out", "[text][quick]") {
    auto tokens = std::vector<hokku::testing::TinyToken>{{"a"}, {"b"}, {"ab"}};
    auto file = hokku::testing::vocabulary_file("gpt2", tokens);
    file.set_string("tokenizer.ggml.pre", "gpt-2");
    file.set_strings("tokenizer.ggml.merges", {"a b"});
    const auto tokenizer = open_tiny(file);
    CHECK(encode(*tokenizer, "ab!b") == Ids{2, 1});
    CHECK(encode(*tokenizer, "\xF0\x9F\x98\x80") == Ids{});
}

TEST_CASE("BpeTokenizer: an unknown pre-tokenizer is default with a warning", "[text][quick]") {
    const std::string space = hokku::testing::byte_character(' ');
    auto file = hokku::testing::vocabulary_file("gpt2", {{space}, {"!"}, {space + "!"}});
    file.set_strings("tokenizer.ggml.merges", {space + " !"});
    // "gpt-2" keeps a space with the punctuation behind it, "default" does not.
    file.set_string("tokenizer.ggml.pre", "gpt-2");
    CHECK(open_tiny(file)->warning().empty());
    CHECK(encode(*open_tiny(file), " !") == Ids{2});
    file.set_string("tokenizer.ggml.pre", "default");
    CHECK(open_tiny(file)->warning().empty());
    CHECK(encode(*open_tiny(file), " !") == Ids{0, 1});
    file.set_string("tokenizer.ggml.pre", "never-heard-of");
    const auto unknown = open_tiny(file);
    CHECK(unknown->warning().find("never-heard-of") != std::string::npos);
    CHECK(unknown->pre_tokenizer() == "never-heard-of");
    CHECK(encode(*unknown, " !") == Ids{0, 1});
    file.remove("tokenizer.ggml.pre");
    CHECK_FALSE(open_tiny(file)->warning().empty());
    CHECK(encode(*open_tiny(file), " !") == Ids{0, 1});
}

TEST_CASE("BpeTokenizer: ignore_merges takes a whole piece that is a token", "[text][quick]") {
    std::vector<hokku::testing::TinyToken> tokens = {{"a"}, {"b"}, {"c"}, {"ab"}, {"abc"}};
    auto file = hokku::testing::vocabulary_file("gpt2", tokens);
    file.set_strings("tokenizer.ggml.merges", {"a b"});
    file.set_string("tokenizer.ggml.pre", "qwen2");
    CHECK(encode(*open_tiny(file), "abc") == Ids{3, 2});
    file.set_string("tokenizer.ggml.pre", "llama-bpe");
    CHECK(encode(*open_tiny(file), "abc") == Ids{4});
}

TEST_CASE("BpeTokenizer: Qwen text is brought to form C first", "[text][quick]") {
    auto file = tiny_bpe();
    const std::string decomposed = "he\xCC\x81";  // e, combining acute
    CHECK(encode(*open_tiny(file), decomposed) == Ids{256, 0xCC, 0x81});
    file.set_string("tokenizer.ggml.pre", "qwen2");
    CHECK(encode(*open_tiny(file), decomposed) == Ids{'h', 0xC3, 0xA9});
}
