// SPDX-License-Identifier: Apache-2.0
// UTF-8: checking, decoding one character, and replacing what is invalid by the rule of the
// WHATWG encoding standard (one U+FFFD for each maximal invalid subpart).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hokku {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct Utf8Char {
    char32_t code_point = kReplacementCharacter;
    uint32_t num_bytes = 0;  ///< Of the character, or of the maximal invalid subpart.
    bool valid = false;
    bool cut = false;  ///< Not valid, but further bytes could make it so.
};

/// The character that starts at `pos`.
///
/// Needs  : pos < text.size().
/// Source : Unicode 15, table 3-7 and section 3.9 "U+FFFD Substitution of Maximal Subparts".
Utf8Char decode_utf8(std::string_view text, size_t pos);

/// Length of the longest start of the text that has at most max_bytes and does not end within a
/// character.
size_t utf8_prefix_bytes(std::string_view text, size_t max_bytes);

/// End of the run of valid characters that starts at `pos`.
size_t valid_utf8_end(std::string_view text, size_t pos);

bool is_valid_utf8(std::string_view text);

/// The text with every maximal invalid subpart replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

/// Appends the UTF-8 form of a code point; surrogates and numbers above 0x10FFFF as U+FFFD.
void append_utf8(std::string& out, char32_t code_point);

/// Text for a message: valid UTF-8 on one line, control characters escaped, cut after about
/// `max_bytes` with "...".
std::string to_printable(std::string_view text, size_t max_bytes = 80);

}  // namespace hokku
