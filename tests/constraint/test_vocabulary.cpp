// SPDX-License-Identifier: Apache-2.0
#include "constraint/test_vocabulary.h"

#include <random>
#include <unordered_map>
#include <unordered_set>

#include "support/catch.h"

namespace hokku::testing {

namespace {

class ListTokenizer final : public Tokenizer {
  public:
    explicit ListTokenizer(std::vector<std::string> texts) : texts_(std::move(texts)) {
        special_.end_of_generation = {kEndToken};
        for (size_t i = 0; i < texts_.size(); ++i) ids_.emplace(texts_[i], static_cast<TokenId>(i));
    }
    Result<std::vector<TokenId>> encode(std::string_view, EncodeOptions) const override {
        return Error{ErrorCode::unsupported, "a list of tokens does not encode", "", ""};
    }
    Result<std::vector<TokenId>> encode_parts(std::span<const PromptPart>, bool,
                                              const std::stop_token&) const override {
        return Error{ErrorCode::unsupported, "a list of tokens does not encode", "", ""};
    }
    std::string decode(std::span<const TokenId> ids, bool keep_special) const override {
        std::string text;
        for (const TokenId id : ids) text += token_bytes(id, keep_special);
        return text;
    }
    size_t num_tokens() const override { return texts_.size(); }
    TokenKind kind(TokenId id) const override {
        return id < 2 ? TokenKind::control : TokenKind::normal;
    }
    std::string token_bytes(TokenId id, bool keep_special) const override {
        return id < 2 && !keep_special ? "" : texts_[static_cast<size_t>(id)];
    }
    std::string_view token_text(TokenId id) const override {
        return texts_[static_cast<size_t>(id)];
    }
    std::optional<TokenId> find_token(std::string_view text) const override {
        const auto found = ids_.find(std::string(text));
        return found == ids_.end() ? std::nullopt : std::optional(found->second);
    }
    const SpecialTokens& special() const override { return special_; }
    std::string_view model_kind() const override { return "list"; }
    std::string_view pre_tokenizer() const override { return "none"; }
    const std::string& warning() const override { return warning_; }

  private:
    std::vector<std::string> texts_;
    std::unordered_map<std::string, TokenId> ids_;
    SpecialTokens special_;
    std::string warning_;
};

std::vector<std::string> single_bytes() {
    std::vector<std::string> texts;
    for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
    return texts;
}

}  // namespace

std::shared_ptr<const ConstraintVocabulary> make_vocabulary(const std::vector<std::string>& texts) {
    std::vector<std::string> all{"<end>", "<ctl>"};
    all.insert(all.end(), texts.begin(), texts.end());
    auto made = ConstraintVocabulary::create(std::make_shared<ListTokenizer>(std::move(all)));
    REQUIRE(made.ok());
    return std::move(made).value();
}

std::shared_ptr<const ConstraintVocabulary> mixed_vocabulary() {
    static const auto vocabulary = [] {
        std::vector<std::string> texts = single_bytes();
        for (const char* text :
             {"ab",           "aa",        "aaa",      "aaaaaaaa", "bc",
              "abc",          "ba",        " the",     "the",      " a",
              "  ",           "\n\n",      "\n  ",     "{\"",      "\":",
              "\": ",         "\",",       "\", \"",   "\"}",      "\"]",
              "},",           "}}",        "]]",       "[[",       "[{",
              "{}",           "[]",        "\\\"",     "\\n",      "\\u",
              "\\u00",        "true",      "false",    "null",     "tr",
              "ue",           "10",        "12",       "00",       "1.",
              ".5",           "-1",        "e+",       "E1",       "123456",
              "name",         "\"name\"",  "age",      "\xE4\xB8", "\xB8\xAD",
              "\xE4\xB8\xAD", "\xC3\xA9",  "\xF0\x9F", "\x98\x80", "\xF0\x9F\x98\x80",
              "\xA9t",        "e\xCC\x81", "a\xC3",    "2024-",    "-01",
              "T12:",         ":00Z",      "ab\"",     "a\\",      "\"a\":1",
              "1,2",          ",\"",       "cat",      "dog",      "cat dog",
              "Cat",          "cats"})
            texts.emplace_back(text);
        return make_vocabulary(texts);
    }();
    return vocabulary;
}

std::shared_ptr<const ConstraintVocabulary> synthetic_vocabulary(size_t num_tokens) {
    std::vector<std::string> texts = single_bytes();
    std::unordered_set<std::string> known(texts.begin(), texts.end());
    std::mt19937 random(7);
    const auto below = [&random](uint32_t limit) {
        return static_cast<uint32_t>(random()) % limit;
    };
    const std::string letters = "etaoinshrdlucmfwypvbgkjqxz";
    while (texts.size() + 2 < num_tokens) {
        std::string text;
        const uint32_t kind = below(100);
        if (kind < 45) text = " ";
        const uint32_t length = 1 + below(4) + below(4) + below(4);
        for (uint32_t i = 0; i < length; ++i) {
            if (kind < 75) {
                text += letters[std::min(below(26), below(26))];
            } else if (kind < 85) {
                text += static_cast<char>('!' + below(94));
            } else if (kind < 97) {
                const uint32_t c = 0x4E00 + below(8000);
                text += static_cast<char>(0xE0 | (c >> 12));
                text += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
                if (i + 1 < length || below(3) > 0) text += static_cast<char>(0x80 | (c & 0x3F));
            } else {
                text += "\"\\{}[],:\n\t 0123456789"[below(20)];
            }
        }
        if (known.insert(text).second) texts.push_back(text);
    }
    return make_vocabulary(texts);
}

std::unique_ptr<Constraint> must_make(const ConstraintSpec& spec,
                                      std::shared_ptr<const ConstraintVocabulary> vocabulary) {
    auto made = make_constraint(spec, std::move(vocabulary));
    if (!made.ok()) FAIL(made.error().message());
    return std::move(made).value();
}

std::unique_ptr<Constraint> must_make_gbnf(std::string text) {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::gbnf;
    spec.text = std::move(text);
    return must_make(spec, mixed_vocabulary());
}

std::string error_of(const ConstraintSpec& spec) {
    auto made = make_constraint(spec, mixed_vocabulary());
    return made.ok() ? "" : made.error().message();
}

bool accepts_beginning(Constraint& constraint, std::string_view text) {
    const size_t before = constraint.num_accepted();
    TokenMask mask(mixed_vocabulary()->num_tokens());
    bool is_allowed = true;
    for (size_t i = 0; i < text.size() && is_allowed; ++i) {
        const TokenId token = byte_token(static_cast<unsigned char>(text[i]));
        // The masks of long texts are looked at now and then only.
        if (i < 200 || i % 64 == 0) {
            const auto allowed = constraint.allowed_tokens(mask);
            if (!allowed.ok()) FAIL(allowed.error().message());
            is_allowed = mask.test(static_cast<size_t>(token));
            CHECK(constraint.accept(token).ok() == is_allowed);
        } else {
            is_allowed = constraint.accept(token).ok();
        }
    }
    if (!is_allowed) constraint.rollback(constraint.num_accepted() - before);
    return is_allowed;
}

bool accepts(Constraint& constraint, std::string_view text) {
    const size_t before = constraint.num_accepted();
    if (!accepts_beginning(constraint, text)) return false;
    TokenMask mask(mixed_vocabulary()->num_tokens());
    const auto allowed = constraint.allowed_tokens(mask);
    if (!allowed.ok()) FAIL(allowed.error().message());
    const bool is_complete = constraint.is_complete();
    CHECK(mask.test(kEndToken) == is_complete);
    constraint.rollback(constraint.num_accepted() - before);
    return is_complete;
}

TokenMask brute_force_mask(const Constraint& constraint, const ConstraintVocabulary& vocabulary) {
    TokenMask mask(vocabulary.num_tokens());
    const auto copy = constraint.clone();
    for (size_t id = 0; id < vocabulary.num_tokens(); ++id) {
        if (!copy->accept(static_cast<TokenId>(id)).ok()) continue;
        mask.set(id);
        copy->rollback(1);
    }
    return mask;
}

}  // namespace hokku::testing
