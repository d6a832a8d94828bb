// SPDX-License-Identifier: Apache-2.0
// Reads grammars in GBNF, the notation of llama.cpp.
#pragma once

#include <string_view>

#include "constraint/grammar/expressions.h"
#include "hokku/constraint.h"

namespace hokku::constraint {

inline constexpr size_t kMaxGbnfBytes = 2u << 20;
inline constexpr size_t kMaxGbnfNesting = 1000;

/// Adds the rules of a grammar to `out` and returns its rule "root". `vocabulary` resolves token
/// literals; where it is null, they are refused.
///
/// Errors : bad_format naming line and column, or the rule; limit_exceeded for deep nesting and
///          for large texts and counts.
/// Source : llama.cpp, grammars/README.md (2026). Besides: an alternative may begin a line.
Result<RuleId> parse_gbnf(std::string_view text, const ConstraintVocabulary* vocabulary,
                          Expressions& out);

}  // namespace hokku::constraint
