// SPDX-License-Identifier: Apache-2.0
// SentencePieceTokenizer: a SentencePiece BPE vocabulary, encoded by the SentencePiece library.
// Special tokens are cut out of the text before the library sees it. The library takes a tenth of
// a second and tens of megabytes for all pieces of a large vocabulary: for the first few kilobytes
// of text it is given those pieces alone that occur in them, which encodes them alike.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"
#include "text/tokenizer/sentencepiece_proto.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/vocabulary_tokenizer.h"

namespace hokku {

struct SentencePieceOptions {
    /// Every stretch of text between control tokens starts with a space of its own.
    bool add_space_prefix = true;
    /// Control tokens but these take the whitespace behind them with them (Phi-3).
    bool strips_after_control = false;
    std::vector<TokenId> keeps_space_after{};
};

/// Threads: safe from any thread; while one loads all pieces, the others wait.
class SentencePieceTokenizer final : public VocabularyTokenizer {
  public:
    /// Errors : bad_format, naming `where`: the library refuses the vocabulary.
    static Result<std::shared_ptr<const SentencePieceTokenizer>> create(
        TokenizerParts parts, SentencePieces pieces, SentencePieceOptions options,
        std::string_view where);
    ~SentencePieceTokenizer() override;

    [[nodiscard]] std::optional<TokenId> find_token(std::string_view text) const override;
    [[nodiscard]] std::string_view model_kind() const override { return "spm"; }

  protected:
    Result<void> append_ids(std::string_view text, std::string_view content_mask,
                            const EncodeOptions& options, std::vector<TokenId>& ids) const override;
    void append_text_bytes(TokenId id, std::string& out) const override;
    [[nodiscard]] size_t num_prefix_bytes(std::string_view decoded) const override;

  private:
    class Library;
    struct Stretch;
    SentencePieceTokenizer(TokenizerParts parts, SentencePieces pieces,
                           SentencePieceOptions options, std::string where);
    Result<std::shared_ptr<const Library>> load_library(std::vector<TokenId> chosen) const;
    Result<std::shared_ptr<const Library>> library_for(std::string_view escaped) const;
    Result<void> append_stretch(std::string_view text, std::string_view content_mask,
                                Stretch& stretch, std::vector<TokenId>& ids) const;
    Result<void> append_plain(std::string_view escaped, Stretch& stretch,
                              std::vector<TokenId>& ids) const;
    Result<void> append_chunk(std::string_view escaped, Stretch& stretch,
                              std::vector<TokenId>& ids) const;

    SentencePieces pieces_;
    SentencePieceOptions options_;
    std::string where_;                               // Of the tokens, for messages.
    mutable std::mutex mutex_;                        // Of the next two.
    mutable std::shared_ptr<const Library> library_;  // Of all pieces, or null yet.
    mutable size_t num_sought_bytes_ = 0;             // Of text whose pieces were sought.
};

}  // namespace hokku
