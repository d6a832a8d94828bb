// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/utf8.h"

namespace hokku {
namespace {

struct CodePointRange {
    uint32_t first, last;
};

// Characters that normalisation neither changes nor joins to the one before: NFC_Quick_Check is
// Yes and the combining class 0. Not all such, but those that running text is made of.
// Source: UnicodeData 14.0; a test compares the table with utf8proc.
constexpr std::array kInert = {
    CodePointRange{0x0000, 0x02FF},    // Latin
    CodePointRange{0x0388, 0x0482},    // Greek, Cyrillic
    CodePointRange{0x048A, 0x0590},    // Cyrillic, Armenian
    CodePointRange{0x05D0, 0x05EA},    // Hebrew
    CodePointRange{0x0620, 0x064A},    // Arabic
    CodePointRange{0x0E01, 0x0E37},    // Thai
    CodePointRange{0x10A0, 0x10FF},    // Georgian
    CodePointRange{0x1E00, 0x1F70},    // Latin and Greek with marks
    CodePointRange{0x2010, 0x2064},    // punctuation
    CodePointRange{0x2190, 0x2328},    // arrows, mathematics
    CodePointRange{0x2460, 0x27BF},    // enclosed characters, shapes, dingbats
    CodePointRange{0x3000, 0x3029},    // ideographic punctuation
    CodePointRange{0x3041, 0x3096},    // Hiragana
    CodePointRange{0x30A0, 0x9FFF},    // Katakana, Bopomofo, Han
    CodePointRange{0xAC00, 0xD7A3},    // Hangul syllables
    CodePointRange{0xFF01, 0xFFEE},    // full-width forms
    CodePointRange{0x1F000, 0x1FAFF},  // pictographs
    CodePointRange{0x20000, 0x2A6DF},  // Han
};

bool is_inert(uint32_t code_point) {
    if (code_point <= kInert.front().last) return true;
    const auto after =
        std::upper_bound(kInert.begin(), kInert.end(), code_point,
                         [](uint32_t value, const CodePointRange& r) { return value < r.first; });
    return code_point <= (after - 1)->last;
}

// Sorts each run of combining marks by class. utf8proc's own loop is quadratic in the run.
void order_marks(std::vector<utf8proc_int32_t>& code_points) {
    const auto class_of = [](utf8proc_int32_t code_point) {
        return utf8proc_get_property(code_point)->combining_class;
    };
    auto begin = code_points.begin();
    while (begin != code_points.end()) {
        begin = std::find_if(begin, code_points.end(),
                             [&](utf8proc_int32_t c) { return class_of(c) != 0; });
        const auto end = std::find_if(begin, code_points.end(),
                                      [&](utf8proc_int32_t c) { return class_of(c) == 0; });
        std::stable_sort(begin, end, [&](utf8proc_int32_t a, utf8proc_int32_t b) {
            return class_of(a) < class_of(b);
        });
        begin = end;
    }
}

// Appends the NFC form of `text`, which starts at a character that nothing before can change.
void append_normalised(std::string_view text, std::vector<utf8proc_int32_t>& code_points,
                       std::string& out) {
    constexpr auto kDecompose =
        static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
    constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    code_points.clear();
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Char character = decode_utf8(text, pos);
        const auto code_point = static_cast<utf8proc_int32_t>(character.code_point);
        pos += character.num_bytes;
        std::array<utf8proc_int32_t, 32> parts{};
        int boundary = 0;
        const auto num_parts =
            utf8proc_decompose_char(code_point, parts.data(), parts.size(), kDecompose, &boundary);
        // No canonical decomposition has more than four parts.
        if (num_parts <= 0 || static_cast<size_t>(num_parts) > parts.size()) {
            code_points.push_back(code_point);
        } else {
            code_points.insert(code_points.end(), parts.begin(), parts.begin() + num_parts);
        }
    }
    order_marks(code_points);
    const auto length = utf8proc_normalize_utf32(
        code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()), kCompose);
    for (utf8proc_ssize_t k = 0; k < length; ++k)
        append_utf8(out, static_cast<char32_t>(code_points[static_cast<size_t>(k)]));
}

// Length of the leading part of `text` that is inert; stops before the first other character.
size_t inert_prefix(std::string_view text) {
    size_t position = 0;
    while (position < text.size()) {
        const auto byte = static_cast<unsigned char>(text[position]);
        if (byte < 0x80) {
            ++position;
            continue;
        }
        const Utf8Char character = decode_utf8(text, position);
        if (!is_inert(character.code_point)) break;
        position += character.num_bytes;
    }
    return position;
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& buffer) {
    size_t position = inert_prefix(text);
    if (position == text.size()) return text;
    buffer.clear();
    std::vector<utf8proc_int32_t> code_points;
    size_t copied = 0;
    while (position < text.size()) {
        // The run starts one character early: that one may take the first mark.
        size_t begin = position;
        while (begin > copied && (static_cast<unsigned char>(text[--begin]) & 0xC0) == 0x80) {
        }
        size_t end = position;
        while (end < text.size()) {
            const Utf8Char character = decode_utf8(text, end);
            if (is_inert(character.code_point)) break;
            end += character.num_bytes;
        }
        buffer.append(text.substr(copied, begin - copied));
        append_normalised(text.substr(begin, end - begin), code_points, buffer);
        copied = end;
        position = end + inert_prefix(text.substr(end));
    }
    buffer.append(text.substr(copied));
    return buffer;
}

}  // namespace hokku
