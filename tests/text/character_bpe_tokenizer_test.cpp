// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "text/tiny_vocabulary.h"

using hokku::TokenId;
using hokku::testing::GgufWriter;
using hokku::testing::open_tiny;
using hokku::testing::tiny_character_bpe;
using Ids = std::vector<TokenId>;

namespace {

Ids encode(const hokku::Tokenizer& tokenizer, std::string_view text) {
    auto ids = tokenizer.encode(text, {});
    REQUIRE(ids.ok());
    return *ids;
}

}  // namespace

TEST_CASE("CharacterBpeTokenizer: characters merge, unknown ones are bytes", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_character_bpe());
    CHECK(encode(*tokenizer, "hi hi") == Ids{260, 261});
    CHECK(encode(*tokenizer, "  hi\xC3\xA9") == Ids{257, 261, 262});
    CHECK(encode(*tokenizer, "\xE2\x96\x81hi") == Ids{261});
    CHECK(encode(*tokenizer, "\xC3\xA8") == Ids{1 + 0xC3, 1 + 0xA8});
    CHECK(encode(*tokenizer, "x\xFF") == Ids{1 + 'x', 1 + 0xFF});
    CHECK(encode(*tokenizer, "hi<|tool>hi") == Ids{260, 263, 260});
    CHECK(encode(*tokenizer, "") == Ids{});
}

TEST_CASE("CharacterBpeTokenizer: decodes spaces and runs of bytes", "[text][quick]") {
    const auto tokenizer = open_tiny(tiny_character_bpe());
    CHECK(tokenizer->decode(Ids{261, 0, 1 + 0xC3, 1 + 0xA8}, false) == " hi\xC3\xA8");
    CHECK(tokenizer->decode(Ids{1 + 0xE2, 1 + 0x96, 260}, false) == "\xEF\xBF\xBD\xEF\xBF\xBDhi");
    CHECK(tokenizer->find_token("\xE2\x96\x81hi") == TokenId{261});
    CHECK(tokenizer->special().end_of_generation == Ids{0});
}

TEST_CASE("CharacterBpeTokenizer: files of kind gpt2 may name it as their pre-tokenizer",
          "[text][quick]") {
    // A word, a space that joins the next word, bytes of what has no token.
    const std::string text = "hi hi\xC3\xA8";
    const Ids expected{260, 261, 1 + 0xC3, 1 + 0xA8};
    for (const char* name : {"gemma4", "granite-embed-multi-311m", "sarvam-moe"}) {
        INFO(name);
        GgufWriter file = tiny_character_bpe();
        file.set_string("tokenizer.ggml.model", "gpt2");
        file.set_string("tokenizer.ggml.pre", name);
        const auto tokenizer = open_tiny(file);
        CHECK(encode(*tokenizer, text) == expected);
        CHECK(tokenizer->pre_tokenizer() == name);
        const bool has_reference = std::string(name) == "gemma4";
        CHECK(tokenizer->warning().empty() == has_reference);
        CHECK(tokenizer->special().add_bos == (std::string(name) != "sarvam-moe"));
    }
}

TEST_CASE("make_tokenizer: pre-tokenizers of embedding models are refused by name",
          "[text][quick]") {
    for (const char* name : {"mmbert", "whitespace"}) {
        GgufWriter file = tiny_character_bpe();
        file.set_string("tokenizer.ggml.model", "gpt2");
        file.set_string("tokenizer.ggml.pre", name);
        const hokku::testing::ScratchFolder folder;
        const auto path = folder / "vocabulary.gguf";
        file.write(path);
        const auto tokenizer = hokku::open_tokenizer(path);
        REQUIRE_FALSE(tokenizer.ok());
        CHECK(tokenizer.error().code == hokku::ErrorCode::unsupported);
        CHECK(tokenizer.error().what.find(name) != std::string::npos);
    }
}
