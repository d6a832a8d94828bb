// SPDX-License-Identifier: Apache-2.0
// BpeTokenizer: byte-level BPE: special tokens are cut out, the rest is normalised where its
// family asks for that, split by patterns, and merged piece by piece.
#pragma once

#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/vocabulary_tokenizer.h"

namespace hokku {

class BpeTokenizer final : public VocabularyTokenizer {
  public:
    BpeTokenizer(TokenizerParts parts, BpeModel model, PreTokenizer pre_tokenizer, bool nfc);

    [[nodiscard]] std::optional<TokenId> find_token(std::string_view text) const override;
    [[nodiscard]] std::string_view model_kind() const override { return "bpe"; }

  protected:
    Result<void> append_ids(std::string_view text, std::string_view content_mask,
                            const EncodeOptions& options, std::vector<TokenId>& ids) const override;
    void append_text_bytes(TokenId id, std::string& out) const override;
    [[nodiscard]] size_t num_prefix_bytes(std::string_view) const override { return 0; }

  private:
    class PieceEncoder;
    Result<void> append_stretch(std::string_view text, PreTokenizer::Scratch& scratch,
                                PieceEncoder& encoder, std::string& normalised) const;

    BpeModel model_;
    PreTokenizer pre_tokenizer_;
    bool nfc_;
};

}  // namespace hokku
