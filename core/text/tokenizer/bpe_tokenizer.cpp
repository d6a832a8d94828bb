// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/bpe_tokenizer.h"

#include "base/try.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_characters.h"
#include "text/tokenizer/nfc.h"

namespace hokku {

class BpeTokenizer::PieceEncoder final : public PieceSink {
  public:
    PieceEncoder(const BpeModel& model, const std::stop_token& stop, std::vector<TokenId>& ids)
        : model_(model), ids_(ids) {
        scratch_.stop = stop;
    }
    bool on_piece(std::string_view piece) override {
        model_.append_ids(piece, scratch_, ids_);
        return !scratch_.stop.stop_requested();
    }

  private:
    const BpeModel& model_;
    std::vector<TokenId>& ids_;
    BpeModel::Scratch scratch_;
};

BpeTokenizer::BpeTokenizer(TokenizerParts parts, BpeModel model, PreTokenizer pre_tokenizer,
                           bool nfc)
    : VocabularyTokenizer(std::move(parts)),
      model_(std::move(model)),
      pre_tokenizer_(std::move(pre_tokenizer)),
      nfc_(nfc) {}

std::optional<TokenId> BpeTokenizer::find_token(std::string_view text) const {
    if (const auto id = vocabulary().find_special(text)) return id;
    std::string bytes;
    if (!append_bytes_of_characters(text, bytes)) return std::nullopt;
    return model_.find(bytes);
}

void BpeTokenizer::append_text_bytes(TokenId id, std::string& out) const {
    out.append(model_.bytes_of(id));
}

Result<void> BpeTokenizer::append_ids(std::string_view text, std::string_view content_mask,
                                      const EncodeOptions& options,
                                      std::vector<TokenId>& ids) const {
    PreTokenizer::Scratch scratch(pre_tokenizer_);
    PieceEncoder encoder(model_, options.stop, ids);
    std::string normalised;
    Result<void> outcome;
    cutter().cut(
        text,
        {.control = options.parse_special, .user_defined = true, .content_mask = content_mask},
        [&](size_t begin, size_t end) {
            if (outcome.ok() && !options.stop.stop_requested())
                outcome =
                    append_stretch(text.substr(begin, end - begin), scratch, encoder, normalised);
        },
        [&](TokenId id, size_t, size_t) { ids.push_back(id); });
    return outcome;
}

// Patterns are only applied to well-formed text; what is not becomes tokens byte by byte, so that
// decoding gives back the very same bytes.
Result<void> BpeTokenizer::append_stretch(std::string_view text, PreTokenizer::Scratch& scratch,
                                          PieceEncoder& encoder, std::string& normalised) const {
    size_t pos = 0;
    while (pos < text.size()) {
        const size_t end = valid_utf8_end(text, pos);
        const std::string_view valid = text.substr(pos, end - pos);
        HOKKU_CHECK(
            pre_tokenizer_.split(nfc_ ? to_nfc(valid, normalised) : valid, scratch, encoder));
        pos = end;
        if (pos == text.size()) break;
        const size_t num_bytes = decode_utf8(text, pos).num_bytes;
        encoder.on_piece(text.substr(pos, num_bytes));
        pos += num_bytes;
    }
    return {};
}

}  // namespace hokku
