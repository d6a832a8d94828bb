// SPDX-License-Identifier: Apache-2.0
// VocabularyTokenizer: what all tokenizers over a GGUF vocabulary share: the token table, special
// tokens, budgets, the cut of a prompt into parts, and decoding. How plain text becomes tokens is
// for its subclasses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hokku/tokenizer.h"
#include "text/tokenizer/character_assembler.h"
#include "text/tokenizer/special_cutter.h"
#include "text/tokenizer/vocabulary.h"

namespace hokku {

/// Longest text that is encoded in one go. Keeps counts far below 2^31 and memory below 1 GB.
inline constexpr size_t kMaxEncodeBytes = 32u << 20;

/// The parts of a tokenizer that its factory prepares.
struct TokenizerParts {
    Vocabulary vocabulary;
    SpecialTokens special;
    SpecialCutter cutter;
    std::string pre_tokenizer;
    std::string warning;
};

class VocabularyTokenizer : public Tokenizer {
  public:
    explicit VocabularyTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text,
                                                      EncodeOptions options) const final;
    [[nodiscard]] Result<std::vector<TokenId>> encode_parts(
        std::span<const PromptPart> parts, bool add_special,
        const std::stop_token& stop) const final;
    [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool keep_special) const final;
    [[nodiscard]] size_t num_tokens() const final { return parts_.vocabulary.size(); }
    [[nodiscard]] TokenKind kind(TokenId id) const final;
    [[nodiscard]] std::string token_bytes(TokenId id, bool keep_special) const final;
    void append_token_bytes(TokenId id, bool keep_special, std::string& out) const final;
    [[nodiscard]] std::string_view token_text(TokenId id) const final;
    [[nodiscard]] const SpecialTokens& special() const final { return parts_.special; }
    [[nodiscard]] std::string_view pre_tokenizer() const final { return parts_.pre_tokenizer; }
    [[nodiscard]] const std::string& warning() const final { return parts_.warning; }

  protected:
    /// Appends the ids of `text`, or some of them once a stop is requested. `content_mask` as in
    /// CutOptions.
    virtual Result<void> append_ids(std::string_view text, std::string_view content_mask,
                                    const EncodeOptions& options,
                                    std::vector<TokenId>& ids) const = 0;
    /// Appends the bytes of a token that is part of the text. Needs: the id is in the vocabulary.
    virtual void append_text_bytes(TokenId id, std::string& out) const = 0;
    /// How many bytes the text of a whole sequence starts with that encoding put there.
    [[nodiscard]] virtual size_t num_prefix_bytes(std::string_view decoded) const = 0;

    [[nodiscard]] const Vocabulary& vocabulary() const { return parts_.vocabulary; }
    [[nodiscard]] const SpecialCutter& cutter() const { return parts_.cutter; }

  private:
    Result<std::vector<TokenId>> encode_masked(std::string_view text, std::string_view content_mask,
                                               const EncodeOptions& options) const;
    TokenizerParts parts_;
};

/// True for the kinds whose text shows only where special tokens are kept.
inline bool is_hidden_kind(TokenKind kind) {
    return kind == TokenKind::control || kind == TokenKind::unknown;
}

/// Hardly a token is longer; what streams tokens sets so much aside from the start.
inline constexpr size_t kUsualTokenBytes = 1024;

/// Feeds the bytes of tokens to an assembler by the rule of the tokenizer's kind.
class TokenTextDecoder {
  public:
    TokenTextDecoder(const Tokenizer& tokenizer, bool keep_special);
    void push(TokenId id, std::string& out);
    void finish(std::string& out) { assembler_.flush(out); }

  private:
    const Tokenizer& tokenizer_;
    bool keep_special_;
    bool has_byte_runs_;  // vocabularies with <0xHH> tokens: any other ends a run of them
    CharacterAssembler assembler_;
    std::string bytes_;
};

}  // namespace hokku
