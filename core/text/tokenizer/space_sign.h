// SPDX-License-Identifier: Apache-2.0
// U+2581, the visible sign that SentencePiece vocabularies write for a space.
#pragma once

#include <string>
#include <string_view>

namespace hokku {

inline constexpr std::string_view kSpaceSign = "\xE2\x96\x81";

/// Appends `text` with every space as a sign.
void append_escaped(std::string_view text, std::string& out);

/// Appends `text` with every sign as a space.
void append_unescaped(std::string_view text, std::string& out);

/// True when a sign follows something else. Where no token does this, text may be cut before any
/// sign that follows something else without a change to its tokens.
bool crosses_space(std::string_view escaped);

/// Where the first such sign at or after `from` starts; npos when there is none. Needs: from > 0.
size_t find_word_start(std::string_view escaped, size_t from);

}  // namespace hokku
