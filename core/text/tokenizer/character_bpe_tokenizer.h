// SPDX-License-Identifier: Apache-2.0
// CharacterBpeTokenizer: BPE by merges over the characters of a SentencePiece-like vocabulary
// (Gemma 4): spaces are U+2581, characters without a token become byte tokens, and nothing splits
// the text beforehand.
#pragma once

#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/space_sign.h"
#include "text/tokenizer/vocabulary_tokenizer.h"

namespace hokku {

class CharacterBpeTokenizer final : public VocabularyTokenizer {
  public:
    /// Needs  : a model of BpeAlphabet::characters.
    CharacterBpeTokenizer(TokenizerParts parts, BpeModel model);

    [[nodiscard]] std::optional<TokenId> find_token(std::string_view text) const override;
    [[nodiscard]] std::string_view model_kind() const override { return "bpe-characters"; }

  protected:
    Result<void> append_ids(std::string_view text, std::string_view content_mask,
                            const EncodeOptions& options, std::vector<TokenId>& ids) const override;
    void append_text_bytes(TokenId id, std::string& out) const override;
    [[nodiscard]] size_t num_prefix_bytes(std::string_view) const override { return 0; }

  private:
    void append_stretch(std::string_view escaped, BpeModel::Scratch& scratch,
                        std::vector<TokenId>& ids) const;

    BpeModel model_;
    WordCuts word_cuts_;
};

}  // namespace hokku
