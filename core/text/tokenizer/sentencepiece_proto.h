// SPDX-License-Identifier: Apache-2.0
// Which tokens of a GGUF file the SentencePiece library is to know, and the serialised ModelProto
// in which it loads them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"
#include "text/tokenizer/space_sign.h"
#include "text/tokenizer/vocabulary.h"

namespace hokku {

/// What text may become: normal and unused tokens, bytes and the unknown. Control and user-defined
/// tokens are cut out of the text before the library sees it.
struct SentencePieces {
    /// For each token whether the library may know it by its name (the text with spaces as signs):
    /// it is normal or unused, not empty, and the first of that name.
    std::vector<bool> is_named;
    std::vector<TokenId> bytes;      ///< All 256, or none.
    std::optional<TokenId> unknown;  ///< Of no name.
    std::vector<float> scores;       ///< Finite.
    size_t longest_name = 0;         ///< In bytes.
    /// Normal and unused tokens by their text in the file, as keys in the vocabulary's texts.
    TokenTable by_text{0, 0};
    /// Those whose text has spaces by their name, as keys in the names.
    StringBlock spaced_names;
    TokenTable by_spaced_name{0, 0};
    WordCuts word_cuts;
};

/// Needs  : scores has one entry for each token, none of them NaN.
/// Errors : bad_format, naming `where`: a byte token whose text is not <0xHH>, two for one byte,
///          or some bytes without one.
Result<SentencePieces> read_sentencepieces(const Vocabulary& vocabulary, std::vector<float> scores,
                                           std::optional<TokenId> unknown, std::string_view where);

/// The bytes and the unknown.
std::vector<TokenId> unnamed_pieces(const SentencePieces& pieces);

/// All pieces, in ascending order; those without a name first.
std::vector<TokenId> all_pieces(const SentencePieces& pieces);

/// Only the named ones that occur in a text: the others cannot change how it is encoded, as BPE
/// looks at nothing but parts of the text.
///
/// Needs: `escaped` is UTF-8.
std::vector<TokenId> pieces_within(std::string_view escaped, const SentencePieces& pieces,
                                   const Vocabulary& vocabulary);

/// Whether the library finds these pieces without long searches: its tables are those of the
/// standard library, whose hash has no seed, so that a file can make names collide.
bool is_hashed_evenly(std::span<const TokenId> chosen, const Vocabulary& vocabulary);

/// A BPE model without normalisation or prefix, whose piece i is chosen[i]. The library wants a
/// piece for the unknown; where there is none, one that stands in follows behind the last.
///
/// Source : sentencepiece_model.proto of the SentencePiece library; protobuf wire format.
std::string write_sentencepiece_proto(std::span<const TokenId> chosen, const SentencePieces& pieces,
                                      const Vocabulary& vocabulary);

}  // namespace hokku
