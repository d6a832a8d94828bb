// SPDX-License-Identifier: Apache-2.0
// Small vocabularies for tests of constraints, and ways to feed texts to a constraint.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/constraint.h"

namespace hokku::testing {

/// Token 0 ends a generation, token 1 is a control token "<ctl>"; the given texts follow.
std::shared_ptr<const ConstraintVocabulary> make_vocabulary(const std::vector<std::string>& texts);

/// The 256 single bytes and some longer tokens: words, parts of JSON, halves of characters.
std::shared_ptr<const ConstraintVocabulary> mixed_vocabulary();
/// As many tokens as asked for, of the kinds that a large vocabulary holds; the same each time.
std::shared_ptr<const ConstraintVocabulary> synthetic_vocabulary(size_t num_tokens);

inline constexpr TokenId kEndToken = 0, kControlToken = 1;
/// The token of one byte in mixed_vocabulary() and synthetic_vocabulary().
inline TokenId byte_token(unsigned char byte) {
    return 2 + byte;
}

/// A constraint over the vocabulary; fails the test when it cannot be made.
std::unique_ptr<Constraint> must_make(const ConstraintSpec& spec,
                                      std::shared_ptr<const ConstraintVocabulary> vocabulary);
std::unique_ptr<Constraint> must_make_gbnf(std::string text);
/// The message of the error that making it gives; "" if it can be made.
std::string error_of(const ConstraintSpec& spec);

/// True when the text, fed byte by byte, is allowed all along and may end after the last byte.
/// Checks each byte with the mask as well. The constraint is as before afterwards.
bool accepts(Constraint& constraint, std::string_view text);
/// True when the text is allowed, complete or not.
bool accepts_beginning(Constraint& constraint, std::string_view text);

/// The allowed tokens as found without tries and caches: each token is tried on its own.
TokenMask brute_force_mask(const Constraint& constraint, const ConstraintVocabulary& vocabulary);

}  // namespace hokku::testing
