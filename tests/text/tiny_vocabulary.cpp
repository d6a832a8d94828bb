// SPDX-License-Identifier: Apache-2.0
#include "text/tiny_vocabulary.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/utf8.h"

namespace hokku::testing {

std::string byte_character(uint8_t byte) {
    // GPT-2's table: printable Latin-1 stands for itself, the rest follows from U+0100 on.
    const auto is_itself = [](uint32_t b) {
        return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
    };
    char32_t character = byte;
    if (!is_itself(byte)) {
        character = 0x100;
        for (uint32_t before = 0; before < byte; ++before) character += is_itself(before) ? 0u : 1u;
    }
    std::string text;
    append_utf8(text, character);
    return text;
}

GgufWriter vocabulary_file(const std::string& model, const std::vector<TinyToken>& tokens) {
    std::vector<std::string> texts;
    std::vector<int32_t> kinds;
    std::vector<float> scores;
    for (const TinyToken& token : tokens) {
        texts.push_back(token.text);
        kinds.push_back(token.kind);
        scores.push_back(token.score);
    }
    GgufWriter file;
    file.set_string("general.architecture", "llama");
    file.set_string("tokenizer.ggml.model", model);
    file.set_strings("tokenizer.ggml.tokens", texts);
    file.set_numbers("tokenizer.ggml.token_type", kinds);
    file.set_numbers("tokenizer.ggml.scores", scores);
    return file;
}

GgufWriter tiny_bpe() {
    std::vector<TinyToken> tokens;
    for (uint32_t byte = 0; byte < 256; ++byte)
        tokens.push_back({byte_character(static_cast<uint8_t>(byte))});
    const std::string space = byte_character(' ');
    for (const std::string& text : {std::string("he"), std::string("ll"), std::string("hell"),
                                    std::string("hello"), space + "h"})
        tokens.push_back({text});
    tokens.push_back({"\n\n", kUserDefined});
    tokens.push_back({"<|end|>", kControl});
    tokens.push_back({"<tool>", kUserDefined});
    tokens.push_back({"<b>", kUserDefined});
    tokens.push_back({"<table>", kUserDefined});
    tokens.push_back({"aa"});
    tokens.push_back({"aaaa"});
    GgufWriter file = vocabulary_file("gpt2", tokens);
    file.set_string("tokenizer.ggml.pre", "gpt-2");
    file.set_strings("tokenizer.ggml.merges",
                     {"h e", "l l", "he ll", space + " h", "hell o", "a a", "aa aa"});
    file.set<uint32_t>("tokenizer.ggml.bos_token_id", 262);
    file.set<uint32_t>("tokenizer.ggml.eos_token_id", 262);
    return file;
}

GgufWriter tiny_sentencepiece() {
    const std::string sign = "\xE2\x96\x81";
    std::vector<TinyToken> tokens = {{"<unk>", kUnknown}, {"<s>", kControl}, {"</s>", kControl}};
    for (uint32_t byte = 0; byte < 256; ++byte)
        tokens.push_back({fmt::format("<0x{:02X}>", byte), kByte});
    tokens.push_back({sign, kNormal, -10});
    tokens.push_back({"h", kNormal, -10});
    tokens.push_back({"i", kNormal, -10});
    tokens.push_back({"hi", kNormal, -1});
    tokens.push_back({sign + "hi", kNormal, -2});
    tokens.push_back({"o", kNormal, -10});
    tokens.push_back({"\n", kUserDefined});
    tokens.push_back({"\n\n", kUserDefined});
    tokens.push_back({"<img>", kUserDefined});
    tokens.push_back({"<eot>", kControl});
    tokens.push_back({"  ", kUserDefined});
    GgufWriter file = vocabulary_file("llama", tokens);
    file.set("tokenizer.ggml.add_space_prefix", false);
    file.set<uint32_t>("tokenizer.ggml.bos_token_id", 1);
    file.set<uint32_t>("tokenizer.ggml.eos_token_id", 2);
    file.set<uint32_t>("tokenizer.ggml.unknown_token_id", 0);
    return file;
}

GgufWriter tiny_character_bpe() {
    const std::string sign = "\xE2\x96\x81";
    std::vector<TinyToken> tokens = {{"<eos>", kControl}};
    for (int byte = 0; byte < 256; ++byte)
        tokens.push_back({fmt::format("<0x{:02X}>", byte), kByte});
    for (const std::string& text : {sign, std::string("h"), std::string("i"), std::string("hi"),
                                    sign + "hi", std::string("\xC3\xA9")})
        tokens.push_back({text});
    tokens.push_back({"<|tool>", kUserDefined});
    GgufWriter file = vocabulary_file("gemma4", tokens);
    file.set_strings("tokenizer.ggml.merges", {"h i", sign + " hi"});
    file.set<uint32_t>("tokenizer.ggml.eos_token_id", 0);
    return file;
}

std::shared_ptr<const Tokenizer> open_tiny(const GgufWriter& file) {
    const ScratchFolder folder;
    file.write(folder / "tiny.gguf");
    auto tokenizer = open_tokenizer(folder / "tiny.gguf");
    if (!tokenizer.ok()) throw std::runtime_error(tokenizer.error().message());
    return *tokenizer;
}

}  // namespace hokku::testing
