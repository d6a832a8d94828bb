// SPDX-License-Identifier: Apache-2.0
#include "text/template/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace hokku::jinja {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

utf8proc_category_t category(char32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

// Length of the well-formed sequence at `position`, 0 if there is none (Unicode 15, table 3-7).
size_t sequence_length(std::string_view text, size_t position) {
    const auto byte = [&](size_t offset) {
        return position + offset < text.size() ? static_cast<unsigned char>(text[position + offset])
                                               : static_cast<unsigned char>(0);
    };
    const auto follows = [&](size_t offset) { return (byte(offset) & 0xC0) == 0x80; };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        if (!follows(1) || !follows(2)) return 0;
        if (first == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
        if (first == 0xED && byte(1) > 0x9F) return 0;  // surrogate
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!follows(1) || !follows(2) || !follows(3)) return 0;
        if (first == 0xF0 && byte(1) < 0x90) return 0;
        if (first == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

template <size_t N>
bool in_ranges(const std::array<std::pair<char32_t, char32_t>, N>& ranges, char32_t c) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [c](const auto& range) { return c >= range.first && c <= range.second; });
}

// Digits that are not decimal (Numeric_Type=Digit): superscripts, circled and the like.
// Source: Unicode 14 character database, as Python 3.11's str.isdigit.
constexpr std::array<std::pair<char32_t, char32_t>, 20> kOtherDigits{{
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
}};
// Other_Uppercase and Other_Lowercase. Source: Unicode 14, PropList.txt.
constexpr std::array<std::pair<char32_t, char32_t>, 5> kOtherUpper{{
    {0x2160, 0x216F},
    {0x24B6, 0x24CF},
    {0x1F130, 0x1F149},
    {0x1F150, 0x1F169},
    {0x1F170, 0x1F189},
}};
constexpr std::array<std::pair<char32_t, char32_t>, 24> kOtherLower{{
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
    {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},
    {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},
    {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
}};

}  // namespace

char32_t next_char(std::string_view text, size_t& position) {
    const auto at = [&](size_t offset) {
        return static_cast<char32_t>(static_cast<unsigned char>(text[position + offset]));
    };
    const char32_t first = at(0);
    if (first < 0x80) {
        ++position;
        return first;
    }
    const size_t length = sequence_length(text, position);
    char32_t out = kReplacement;
    if (length == 2) out = (first & 0x1F) << 6 | (at(1) & 0x3F);
    if (length == 3) out = (first & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
    if (length == 4) {
        out = (first & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
    }
    position += length == 0 ? 1 : length;
    return out;
}

char32_t previous_char(std::string_view text, size_t& position) {
    size_t start = position - 1;
    while (start > 0 && position - start < 4 &&
           (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) {
        --start;
    }
    size_t end = start;
    const char32_t c = next_char(text, end);
    if (end != position) {  // ill-formed: the last byte alone
        --position;
        return kReplacement;
    }
    position = start;
    return c;
}

void append_char(std::string& out, char32_t c) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacement;
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

size_t count_chars(std::string_view text) {
    size_t continuation = 0;
    for (const char c : text) continuation += (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    return text.size() - continuation;
}

size_t byte_position(std::string_view text, size_t char_index) {
    for (size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
        if (char_index-- == 0) return i;
    }
    return text.size();
}

size_t find_invalid_utf8(std::string_view text) {
    for (size_t position = 0; position < text.size();) {
        const size_t length = sequence_length(text, position);
        if (length == 0) return position;
        position += length;
    }
    return std::string_view::npos;
}

bool is_space(char32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

bool is_printable(char32_t c) {
    if (c < 0x7F) return c >= 0x20;
    switch (category(c)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return false;
        default:
            return true;
    }
}

bool is_alpha(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
    return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
    return is_decimal(c) || (c >= 0x80 && in_ranges(kOtherDigits, c));
}

bool is_numeric(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z';
    return category(c) == UTF8PROC_CATEGORY_LU || in_ranges(kOtherUpper, c);
}

bool is_lower(char32_t c) {
    if (c < 0x80) return c >= 'a' && c <= 'z';
    return category(c) == UTF8PROC_CATEGORY_LL || in_ranges(kOtherLower, c);
}

bool is_title(char32_t c) {
    return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_LT;
}

bool is_word(char32_t c) {
    return c == '_' || is_alpha(c) || is_numeric(c);
}

bool is_identifier(std::string_view text) {
    if (text.empty()) return false;
    for (size_t position = 0; position < text.size();) {
        const bool is_first = position == 0;
        const char32_t c = next_char(text, position);
        if (c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL) continue;
        if (is_first) return false;
        const utf8proc_category_t kind = category(c);
        if (kind != UTF8PROC_CATEGORY_ND && kind != UTF8PROC_CATEGORY_MN &&
            kind != UTF8PROC_CATEGORY_MC && kind != UTF8PROC_CATEGORY_PC) {
            return false;
        }
    }
    return true;
}

std::string_view char_at(std::string_view text, size_t position) {
    size_t end = position;
    next_char(text, end);
    return text.substr(position, end - position);
}

std::string shorten_message(std::string text) {
    constexpr size_t kMaxBytes = 2000, kMaxBegin = 1500, kMaxEnd = 400;
    if (text.size() <= kMaxBytes) return text;
    const size_t begin = utf8_prefix_bytes(text, kMaxBegin);
    const size_t end = utf8_prefix_bytes(text, text.size() - kMaxEnd);
    return text.replace(begin, end - begin, " ... ");
}

}  // namespace hokku::jinja
