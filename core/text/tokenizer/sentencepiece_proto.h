// SPDX-License-Identifier: Apache-2.0
// Writes the tokens of a GGUF file as the serialised ModelProto that the SentencePiece library
// loads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hokku/result.h"
#include "text/tokenizer/space_sign.h"
#include "text/tokenizer/vocabulary.h"

namespace hokku {

struct SentencePieceProto {
    std::string bytes;
    /// The library wants a piece for the unknown; where the file has none this one, behind its
    /// last token, stands in. Ids from here on are not tokens.
    size_t num_tokens = 0;
    bool has_byte_fallback = false;
    WordCuts word_cuts;
    /// Normal and unused tokens by their text in the file, as keys in the vocabulary's texts.
    TokenTable plain_tokens{0, 0};
};

/// A BPE model without normalisation or prefix. Only normal pieces, unused ones and the byte
/// pieces keep their kind: control and user-defined tokens are cut out of the text beforehand, so
/// that the library never sees them, and are written as control pieces, which it never matches.
///
/// Needs  : scores has one entry for each token, none of them NaN.
/// Errors : bad_format, naming `where`: a byte token whose text is not <0xHH>, two for one byte,
///          or some bytes without one.
/// Source : sentencepiece_model.proto of the SentencePiece library; protobuf wire format.
Result<SentencePieceProto> write_sentencepiece_proto(const Vocabulary& vocabulary,
                                                     std::span<const float> scores,
                                                     std::optional<TokenId> unknown,
                                                     std::string_view where);

}  // namespace hokku
