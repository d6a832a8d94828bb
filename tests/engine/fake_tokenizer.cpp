// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/fake_model.h"

namespace hokku::testing {

const std::vector<std::string>& fake_long_tokens() {
    static const std::vector<std::string> tokens{
        "Hello",
        " world",
        "stop",
        "\nUser",
        ": ",
        "\xE5\x8F",
        "\xA5 and \xF0\x9F",
        "\x8D\x81",
        "a token that is longer than any short string can hold in place",
        "k>{"};
    return tokens;
}

namespace {

class FakeTokenizer : public Tokenizer {
  public:
    explicit FakeTokenizer(bool add_bos) {
        special_.bos = fake_token::bos;
        special_.eos = fake_token::eos;
        special_.add_bos = add_bos;
        special_.end_of_generation = {fake_token::eos};
    }

    Result<std::vector<TokenId>> encode(std::string_view text,
                                        EncodeOptions options) const override {
        std::vector<TokenId> ids;
        if (options.add_special && special_.add_bos) ids.push_back(fake_token::bos);
        append(ids, text, options.parse_special);
        return ids;
    }
    Result<std::vector<TokenId>> encode_parts(std::span<const PromptPart> parts, bool add_special,
                                              const std::stop_token&) const override {
        std::vector<TokenId> ids;
        if (add_special && special_.add_bos) ids.push_back(fake_token::bos);
        for (const PromptPart& part : parts) append(ids, part.text, !part.is_content);
        return ids;
    }
    std::string decode(std::span<const TokenId> ids, bool keep_special) const override {
        std::string text;
        for (const TokenId id : ids) text += token_bytes(id, keep_special);
        return text;
    }
    size_t num_tokens() const override {
        return static_cast<size_t>(fake_token::first_long) + fake_long_tokens().size();
    }
    TokenKind kind(TokenId id) const override {
        if (id < 256) return TokenKind::byte;
        return id < fake_token::first_long ? TokenKind::control : TokenKind::normal;
    }
    std::string token_bytes(TokenId id, bool keep_special) const override {
        std::string bytes;
        append_token_bytes(id, keep_special, bytes);
        return bytes;
    }
    void append_token_bytes(TokenId id, bool keep_special, std::string& out) const override {
        if (id < 0 || static_cast<size_t>(id) >= num_tokens()) return;
        if (id < 256) {
            out += static_cast<char>(id);
        } else if (id >= fake_token::first_long || keep_special) {
            out += token_text(id);
        }
    }
    std::string_view token_text(TokenId id) const override {
        if (id < 256 || static_cast<size_t>(id) >= num_tokens()) return {};
        if (id < fake_token::first_long) return control_texts()[static_cast<size_t>(id - 256)];
        return fake_long_tokens()[static_cast<size_t>(id - fake_token::first_long)];
    }
    std::optional<TokenId> find_token(std::string_view text) const override {
        for (TokenId id = 256; static_cast<size_t>(id) < num_tokens(); ++id)
            if (token_text(id) == text) return id;
        return std::nullopt;
    }
    const SpecialTokens& special() const override { return special_; }
    std::string_view model_kind() const override { return "bpe"; }
    std::string_view pre_tokenizer() const override { return "none"; }
    const std::string& warning() const override { return warning_; }

  private:
    static const std::vector<std::string>& control_texts() {
        static const std::vector<std::string> texts{"<s>", "</s>", "<user>", "<assistant>",
                                                    "<end>"};
        return texts;
    }
    static void append(std::vector<TokenId>& ids, std::string_view text, bool parse_special) {
        while (!text.empty()) {
            size_t used = 0;
            for (size_t i = 0; parse_special && i < control_texts().size(); ++i) {
                if (text.substr(0, control_texts()[i].size()) != control_texts()[i]) continue;
                ids.push_back(static_cast<TokenId>(256 + i));
                used = control_texts()[i].size();
            }
            if (used == 0) {
                ids.push_back(static_cast<unsigned char>(text.front()));
                used = 1;
            }
            text.remove_prefix(used);
        }
    }

    SpecialTokens special_;
    std::string warning_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_fake_tokenizer(bool add_bos) {
    return std::make_shared<FakeTokenizer>(add_bos);
}

}  // namespace hokku::testing
