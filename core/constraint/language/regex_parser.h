// SPDX-License-Identifier: Apache-2.0
// Reads regular expressions: the part of ECMA-262 that describes regular languages.
#pragma once

#include <string_view>

#include "constraint/grammar/expressions.h"
#include "hokku/result.h"

namespace hokku::constraint {

inline constexpr size_t kMaxRegexBytes = 1u << 20;
inline constexpr size_t kMaxRegexNesting = 500;

enum class RegexMatch {
    whole,   ///< The whole text must match; ^ and $ at its ends change nothing.
    search,  ///< A part must match, unless ^ and $ say more: "pattern" of JSON schema.
};

/// Adds the expression of a pattern to `out`. It holds characters and repetitions only, neither
/// literals nor rules.
///
/// Knows  : . \d \w \s \D \W \S, classes, groups, named and non-capturing groups, alternatives,
///          * + ? {m} {m,} {m,n} (lazy or not: the language is the same), \t \n \r \f \v \0 \xHH
///          \uHHHH \u{H..}, ^ at the beginning and $ at the end of an alternative.
/// Errors : bad_format naming line and column; unsupported naming the construct: look-around,
///          back-references, \b, \p, flags, anchors elsewhere.
/// Source : ECMA-262 (2024), section 22.2; \d, \w and \s as there.
Result<ExprId> parse_regex(std::string_view pattern, RegexMatch match, Expressions& out);

}  // namespace hokku::constraint
