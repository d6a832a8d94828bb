// SPDX-License-Identifier: Apache-2.0
// Code points of UTF-8 text and the character classes and case rules that Python's str follows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/template/marked_text.h"

namespace hokku::jinja {

/// Reads the code point at `position` (which must be inside) and moves past it. Ill-formed bytes
/// give U+FFFD one at a time.
char32_t next_char(std::string_view text, size_t& position);
/// The code point that ends at `position` (> 0); moves to its start.
char32_t previous_char(std::string_view text, size_t& position);
void append_char(std::string& out, char32_t c);
/// Number of code points in well-formed text.
size_t count_chars(std::string_view text);
/// Byte position of the code point with this index; the text's size if there are fewer.
size_t byte_position(std::string_view text, size_t char_index);
/// Position of the first ill-formed byte; npos if the text is well-formed UTF-8.
size_t find_invalid_utf8(std::string_view text);

bool is_space(char32_t c);      ///< str.isspace, and what strip() removes.
bool is_line_end(char32_t c);   ///< Where splitlines() cuts.
bool is_printable(char32_t c);  ///< Not escaped by repr().
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_word(char32_t c);  ///< \w of a regular expression.
bool is_identifier(std::string_view text);

enum class Case { upper, lower, title, fold, swap, capitalize };
/// Python's str.upper(), .lower(), .title(), .casefold(), .swapcase(), .capitalize().
Text change_case(const Text& text, Case to);
std::string to_lower(std::string_view text);

/// The code point at `position`, as text.
std::string_view char_at(std::string_view text, size_t position);
/// What an error says, with its middle left out where that is long: it may quote anything.
std::string shorten_message(std::string text);

}  // namespace hokku::jinja
