// SPDX-License-Identifier: Apache-2.0
// Broken vocabularies are refused by the key at fault; odd but harmless ones give a tokenizer that
// stays within its tokens.
#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "hokku/tokenizer.h"
#include "support/catch.h"
#include "support/malformed_check.h"
#include "support/tiny_model.h"
#include "text/tokenizer/tokenizer_factory.h"

using hokku::GgufFile;
using hokku::make_tokenizer;
using hokku::TokenId;
using hokku::Tokenizer;
using hokku::testing::GgufWriter;
using hokku::testing::make_tiny_llama;
using hokku::testing::make_tiny_llama_spm;
using hokku::testing::RefusedBy;
using hokku::testing::ScratchFolder;

namespace {

std::string load(const std::filesystem::path& path) {
    const auto opened = GgufFile::open(path);
    if (!opened.ok()) return opened.error().message();
    const auto tokenizer = make_tokenizer(opened.value().metadata());
    return tokenizer.ok() ? "loaded" : tokenizer.error().message();
}

std::shared_ptr<const Tokenizer> tokenizer_of(const GgufWriter& writer) {
    const ScratchFolder folder;
    writer.write(folder / "vocabulary.gguf");
    const auto opened = GgufFile::open(folder / "vocabulary.gguf");
    REQUIRE(opened.ok());
    auto tokenizer = make_tokenizer(opened.value().metadata());
    INFO((tokenizer.ok() ? "" : tokenizer.error().message()));
    REQUIRE(tokenizer.ok());
    return std::move(tokenizer).value();
}

}  // namespace

TEST_CASE("Tokenizer: the tiny models' vocabularies give back every text", "[text][quick]") {
    for (const GgufWriter& writer : {make_tiny_llama(), make_tiny_llama_spm()}) {
        const auto tokenizer = tokenizer_of(writer);
        CHECK(tokenizer->num_tokens() == 261);
        for (const std::string text : {"hello a", "\xE4\xB8\xAD", "a\nb\t\x01"}) {
            const auto ids = tokenizer->encode(text, {});
            REQUIRE(ids.ok());
            CHECK(tokenizer->decode(ids.value(), false) == text);
        }
    }
}

TEST_CASE("Tokenizer: every malformed vocabulary is refused with its cause", "[text][quick]") {
    hokku::testing::check_malformed_files(
        {.is_wanted = [](RefusedBy layer) { return layer == RefusedBy::tokenizer; },
         .min_num_files = 100,
         .attempt = hokku::testing::in_child(load)});
}

TEST_CASE("Tokenizer: a vocabulary of more than 2^20 tokens is refused", "[text][quick]") {
    GgufWriter writer = make_tiny_llama();
    writer.set_strings("tokenizer.ggml.tokens", std::vector<std::string>((1u << 20) + 1, "a"));
    const ScratchFolder folder;
    writer.write(folder / "vocabulary.gguf");
    const auto opened = GgufFile::open(folder / "vocabulary.gguf");
    REQUIRE(opened.ok());
    const auto tokenizer = make_tokenizer(opened.value().metadata());
    REQUIRE_FALSE(tokenizer.ok());
    CHECK(tokenizer.error().code == hokku::ErrorCode::limit_exceeded);
    CHECK_THAT(tokenizer.error().message(), Catch::Contains("1048577"));
}

TEST_CASE("Tokenizer: special ids outside the vocabulary count as absent", "[text][quick]") {
    for (const int64_t id : {int64_t{-1}, int64_t{261}, int64_t{0xFFFF'FFFF}, INT64_MAX}) {
        GgufWriter writer = make_tiny_llama();
        for (const char* kind : {"bos", "eos", "eot", "eom", "unknown", "padding"})
            writer.set("tokenizer.ggml." + std::string(kind) + "_token_id", id);
        const auto tokenizer = tokenizer_of(writer);
        CHECK_FALSE(tokenizer->special().bos.has_value());
        CHECK_FALSE(tokenizer->special().eos.has_value());
        CHECK_FALSE(tokenizer->special().unknown.has_value());
        for (const TokenId end : tokenizer->special().end_of_generation) CHECK(end < 261);
    }
}

TEST_CASE("Tokenizer: vocabularies of one and two tokens have no default ids", "[text][quick]") {
    for (const size_t count : {size_t{1}, size_t{2}}) {
        const std::vector<std::string> tokens(count, "a");
        GgufWriter bpe, spm;
        bpe.set_string("tokenizer.ggml.model", "gpt2").set_strings("tokenizer.ggml.tokens", tokens);
        bpe.set_strings("tokenizer.ggml.merges", {});
        spm.set_string("tokenizer.ggml.model", "llama");
        spm.set_strings("tokenizer.ggml.tokens", tokens);
        spm.set_numbers("tokenizer.ggml.scores", std::vector<float>(count, 0.0f));
        for (const GgufWriter& writer : {bpe, spm}) {
            const auto tokenizer = tokenizer_of(writer);
            for (const auto& id :
                 {tokenizer->special().bos, tokenizer->special().eos, tokenizer->special().unknown})
                CHECK((!id || static_cast<size_t>(*id) < count));
            const auto ids = tokenizer->encode("aab", {.add_special = true});
            REQUIRE(ids.ok());
            for (const TokenId id : ids.value()) CHECK(static_cast<size_t>(id) < count);
        }
    }
}
