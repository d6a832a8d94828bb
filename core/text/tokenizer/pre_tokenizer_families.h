// SPDX-License-Identifier: Apache-2.0
// The table of pre-tokenizers: every name a file may give in tokenizer.ggml.pre, with its family
// of split patterns and its flags. Pure data.
#pragma once

#include <span>
#include <string_view>

namespace hokku {

/// Patterns applied in order: each isolates its matches inside the pieces left by the one before;
/// what it does not match stays a piece. PCRE2 syntax, with \s and \S meaning Unicode White_Space
/// and {{NAME}} standing for a class of pattern_classes(). A pattern that starts with
/// kThreesFromRight cuts each of its matches into groups of three characters, counted from the
/// match's end; published as \d{1,3}(?=(?:\d{3})*\b) and the like, quadratic in the run.
inline constexpr std::string_view kThreesFromRight = "{{THREES_FROM_RIGHT}}";

struct PreTokenizerFamily {
    std::string_view name;
    std::span<const std::string_view> patterns;
};

struct PreTokenizerName {
    std::string_view name;  ///< As in the file.
    std::string_view family;
    bool ignore_merges = false;  ///< A piece that is a token is taken whole.
    bool add_bos = false;        ///< Default of tokenizer.ggml.add_bos_token.
    bool nfc = false;            ///< The original tokenizer normalises to NFC first.
};

struct PatternClass {
    std::string_view name, text;
};

/// nullptr when the name is not known.
const PreTokenizerName* find_pre_tokenizer_name(std::string_view name);
/// nullptr when the name is not known.
const PreTokenizerFamily* find_pre_tokenizer_family(std::string_view name);
std::span<const PatternClass> pattern_classes();
std::span<const PreTokenizerFamily> pre_tokenizer_families();
std::span<const PreTokenizerName> pre_tokenizer_names();

}  // namespace hokku
