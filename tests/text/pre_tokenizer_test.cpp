// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/pre_tokenizer.h"

#include <set>
#include <string>
#include <vector>

#include "support/catch.h"

using hokku::find_pre_tokenizer_family;
using hokku::find_pre_tokenizer_name;
using hokku::PreTokenizer;

namespace {

class Collector final : public hokku::PieceSink {
  public:
    bool on_piece(std::string_view piece) override {
        pieces.emplace_back(piece);
        return true;
    }
    std::vector<std::string> pieces;
};

std::vector<std::string> split(std::string_view family, std::string_view text) {
    const auto* found = find_pre_tokenizer_family(family);
    REQUIRE(found != nullptr);
    const auto pre_tokenizer = PreTokenizer::create(*found);
    REQUIRE(pre_tokenizer.ok());
    PreTokenizer::Scratch scratch(*pre_tokenizer);
    Collector collector;
    REQUIRE(pre_tokenizer->split(text, scratch, collector).ok());
    return collector.pieces;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("PreTokenizer: families split as their published patterns", "[text][quick]") {
    CHECK(split("gpt-2", "Hello world's  123\n\n x!") ==
          Pieces{"Hello", " world", "'s", " ", " 123", "\n\n", " x", "!"});
    CHECK(split("gpt-2", "IT'S") == Pieces{"IT", "'", "S"});
    CHECK(split("digits-gpt-2", "a 12\n\n3") == Pieces{"a", " ", "1", "2", "\n\n", "3"});
    CHECK(split("default", "ab 1234!") == Pieces{"ab", " ", "123", "4", "!"});
    CHECK(split("llama-bpe", "IT'S 12345\n  x") ==
          Pieces{"IT", "'S", " ", "123", "45", "\n", " ", " x"});
    CHECK(split("qwen2", "a123 \n") == Pieces{"a", "1", "2", "3", " \n"});
    CHECK(split("gpt-4o", "HelloWorld") == Pieces{"Hello", "World"});
    CHECK(split("tiny_aya", "12345 x") == Pieces{"12", "345", " x"});
    CHECK(split("tiny_aya", "12345x") == Pieces{"123", "45", "x"});
    CHECK(split("superbpe", "a1234b") == Pieces{"a", "1", "234", "b"});
    CHECK(split("gpt-2", "").empty());
}

TEST_CASE("PreTokenizer: U+180E is not white space", "[text][quick]") {
    CHECK(split("gpt-2", "\xE1\xA0\x8E ") == Pieces{"\xE1\xA0\x8E", " "});
    CHECK(split("gpt-2", "\xC2\x85\xE3\x80\x80") == Pieces{"\xC2\x85\xE3\x80\x80"});
}

TEST_CASE("PreTokenizer: every name has a family and every family compiles", "[text][quick]") {
    std::set<std::string_view> names;
    for (const auto& name : hokku::pre_tokenizer_names()) {
        INFO(name.name);
        CHECK(names.insert(name.name).second);
        CHECK(find_pre_tokenizer_family(name.family) != nullptr);
    }
    CHECK(names.size() >= 80);
    for (const auto& family : hokku::pre_tokenizer_families()) {
        INFO(family.name);
        CHECK(PreTokenizer::create(family).ok());
    }
    CHECK(find_pre_tokenizer_name("never-heard-of") == nullptr);
    CHECK(find_pre_tokenizer_name("llama3")->ignore_merges);
    CHECK(find_pre_tokenizer_name("qwen2")->nfc);
}

TEST_CASE("PreTokenizer: pieces join to the text in every family", "[text][quick]") {
    const std::string text =
        "It's 12,345.6 ‘kilo’\r\n\r\n\t  Größe \xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C "
        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB <sentinel:1> IMGIMGABZ don't 1x22y   \n z  ";
    for (const auto& family : hokku::pre_tokenizer_families()) {
        INFO(family.name);
        std::string joined;
        for (const std::string& piece : split(family.name, text)) {
            CHECK_FALSE(piece.empty());
            joined += piece;
        }
        CHECK(joined == text);
    }
}
