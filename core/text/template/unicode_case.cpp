// SPDX-License-Identifier: Apache-2.0
// Case mapping: simple mappings from utf8proc, the ones that change the length from here.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

struct SpecialCase {
    char32_t from;
    std::array<char32_t, 3> upper, title;  // ends at the first 0
};

// Characters whose upper or title case is longer than one. Source: Unicode 14, SpecialCasing.txt,
// unconditional mappings; U+1F80..1FAF follow a rule and are computed.
constexpr SpecialCase kSpecial[] = {
    // clang-format off
    {0x00DF, {0x0053, 0x0053}, {0x0053, 0x0073}}, {0x0149, {0x02BC, 0x004E}, {0x02BC, 0x004E}},
    {0x01F0, {0x004A, 0x030C}, {0x004A, 0x030C}},
    {0x0390, {0x0399, 0x0308, 0x0301}, {0x0399, 0x0308, 0x0301}},
    {0x03B0, {0x03A5, 0x0308, 0x0301}, {0x03A5, 0x0308, 0x0301}},
    {0x0587, {0x0535, 0x0552}, {0x0535, 0x0582}}, {0x1E96, {0x0048, 0x0331}, {0x0048, 0x0331}},
    {0x1E97, {0x0054, 0x0308}, {0x0054, 0x0308}}, {0x1E98, {0x0057, 0x030A}, {0x0057, 0x030A}},
    {0x1E99, {0x0059, 0x030A}, {0x0059, 0x030A}}, {0x1E9A, {0x0041, 0x02BE}, {0x0041, 0x02BE}},
    {0x1F50, {0x03A5, 0x0313}, {0x03A5, 0x0313}},
    {0x1F52, {0x03A5, 0x0313, 0x0300}, {0x03A5, 0x0313, 0x0300}},
    {0x1F54, {0x03A5, 0x0313, 0x0301}, {0x03A5, 0x0313, 0x0301}},
    {0x1F56, {0x03A5, 0x0313, 0x0342}, {0x03A5, 0x0313, 0x0342}},
    {0x1FB2, {0x1FBA, 0x0399}, {0x1FBA, 0x0345}}, {0x1FB3, {0x0391, 0x0399}, {0x1FBC}},
    {0x1FB4, {0x0386, 0x0399}, {0x0386, 0x0345}}, {0x1FB6, {0x0391, 0x0342}, {0x0391, 0x0342}},
    {0x1FB7, {0x0391, 0x0342, 0x0399}, {0x0391, 0x0342, 0x0345}},
    {0x1FBC, {0x0391, 0x0399}, {0x1FBC}}, {0x1FC2, {0x1FCA, 0x0399}, {0x1FCA, 0x0345}},
    {0x1FC3, {0x0397, 0x0399}, {0x1FCC}}, {0x1FC4, {0x0389, 0x0399}, {0x0389, 0x0345}},
    {0x1FC6, {0x0397, 0x0342}, {0x0397, 0x0342}},
    {0x1FC7, {0x0397, 0x0342, 0x0399}, {0x0397, 0x0342, 0x0345}},
    {0x1FCC, {0x0397, 0x0399}, {0x1FCC}},
    {0x1FD2, {0x0399, 0x0308, 0x0300}, {0x0399, 0x0308, 0x0300}},
    {0x1FD3, {0x0399, 0x0308, 0x0301}, {0x0399, 0x0308, 0x0301}},
    {0x1FD6, {0x0399, 0x0342}, {0x0399, 0x0342}},
    {0x1FD7, {0x0399, 0x0308, 0x0342}, {0x0399, 0x0308, 0x0342}},
    {0x1FE2, {0x03A5, 0x0308, 0x0300}, {0x03A5, 0x0308, 0x0300}},
    {0x1FE3, {0x03A5, 0x0308, 0x0301}, {0x03A5, 0x0308, 0x0301}},
    {0x1FE4, {0x03A1, 0x0313}, {0x03A1, 0x0313}}, {0x1FE6, {0x03A5, 0x0342}, {0x03A5, 0x0342}},
    {0x1FE7, {0x03A5, 0x0308, 0x0342}, {0x03A5, 0x0308, 0x0342}},
    {0x1FF2, {0x1FFA, 0x0399}, {0x1FFA, 0x0345}}, {0x1FF3, {0x03A9, 0x0399}, {0x1FFC}},
    {0x1FF4, {0x038F, 0x0399}, {0x038F, 0x0345}}, {0x1FF6, {0x03A9, 0x0342}, {0x03A9, 0x0342}},
    {0x1FF7, {0x03A9, 0x0342, 0x0399}, {0x03A9, 0x0342, 0x0345}},
    {0x1FFC, {0x03A9, 0x0399}, {0x1FFC}}, {0xFB00, {0x0046, 0x0046}, {0x0046, 0x0066}},
    {0xFB01, {0x0046, 0x0049}, {0x0046, 0x0069}}, {0xFB02, {0x0046, 0x004C}, {0x0046, 0x006C}},
    {0xFB03, {0x0046, 0x0046, 0x0049}, {0x0046, 0x0066, 0x0069}},
    {0xFB04, {0x0046, 0x0046, 0x004C}, {0x0046, 0x0066, 0x006C}},
    {0xFB05, {0x0053, 0x0054}, {0x0053, 0x0074}}, {0xFB06, {0x0053, 0x0054}, {0x0053, 0x0074}},
    {0xFB13, {0x0544, 0x0546}, {0x0544, 0x0576}}, {0xFB14, {0x0544, 0x0535}, {0x0544, 0x0565}},
    {0xFB15, {0x0544, 0x053B}, {0x0544, 0x056B}}, {0xFB16, {0x054E, 0x0546}, {0x054E, 0x0576}},
    {0xFB17, {0x0544, 0x053D}, {0x0544, 0x056D}},
    // clang-format on
};

char32_t simple(char32_t c, utf8proc_int32_t (*map)(utf8proc_int32_t)) {
    return static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(c)));
}

void append_all(std::string& out, const std::array<char32_t, 3>& chars) {
    for (const char32_t c : chars) {
        if (c != 0) append_char(out, c);
    }
}

const SpecialCase* find_special(char32_t c) {
    const auto* it =
        std::lower_bound(std::begin(kSpecial), std::end(kSpecial), c,
                         [](const SpecialCase& row, char32_t wanted) { return row.from < wanted; });
    return it != std::end(kSpecial) && it->from == c ? it : nullptr;
}

void append_upper(std::string& out, char32_t c) {
    if (c >= 0x1F80 && c <= 0x1FAF) {  // Greek with ypogegrammeni: base capital and iota
        const char32_t base = c < 0x1F90 ? 0x1F08 : c < 0x1FA0 ? 0x1F28 : 0x1F68;
        append_char(out, base + (c & 7));
        append_char(out, 0x0399);
    } else if (const SpecialCase* row = find_special(c)) {
        append_all(out, row->upper);
    } else {
        append_char(out, simple(c, utf8proc_toupper));
    }
}

void append_title(std::string& out, char32_t c) {
    if (const SpecialCase* row = find_special(c)) {
        append_all(out, row->title);
    } else {
        append_char(out, simple(c, utf8proc_totitle));
    }
}

bool is_cased(char32_t c) {
    return is_upper(c) || is_lower(c) || is_title(c);
}

bool is_case_ignorable(char32_t c) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_SK:
            return true;
        default:
            return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2018 || c == 0x2019 ||
                   c == 0x2024 || c == 0x2027;
    }
}

// Final sigma (Unicode 15, section 3.13): after a cased letter and not before one.
bool is_final_sigma(std::string_view text, size_t begin, size_t end) {
    bool after_cased = false;
    while (begin > 0) {
        const char32_t c = previous_char(text, begin);
        if (is_case_ignorable(c)) continue;
        after_cased = is_cased(c);
        break;
    }
    if (!after_cased) return false;
    while (end < text.size()) {
        const char32_t c = next_char(text, end);
        if (is_case_ignorable(c)) continue;
        return !is_cased(c);
    }
    return true;
}

void append_lower(std::string& out, char32_t c, std::string_view text, size_t begin, size_t end) {
    if (c == 0x130) {
        out += "i\xCC\x87";
    } else if (c == 0x3A3) {
        append_char(out, is_final_sigma(text, begin, end) ? 0x3C2 : 0x3C3);
    } else {
        append_char(out, simple(c, utf8proc_tolower));
    }
}

void append_folded(std::string& out, char32_t c) {
    std::array<utf8proc_int32_t, 8> folded{};
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded.data(),
                                               static_cast<utf8proc_ssize_t>(folded.size()),
                                               UTF8PROC_CASEFOLD, &boundary);
    if (count <= 0 || count > static_cast<utf8proc_ssize_t>(folded.size())) {
        append_char(out, c);
        return;
    }
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        append_char(out, static_cast<char32_t>(folded[i]));
    }
}

// Walks over a text and keeps what title() and capitalize() must remember between characters.
class CaseMapper {
  public:
    CaseMapper(std::string_view text, Case to) : text_(text), to_(to) {}

    void map(std::string& out, size_t begin, size_t end) {
        for (size_t position = begin; position < end;) {
            const size_t start = position;
            const char32_t c = next_char(text_, position);
            switch (choose(c)) {
                case Case::upper:
                    append_upper(out, c);
                    break;
                case Case::title:
                    append_title(out, c);
                    break;
                case Case::fold:
                    append_folded(out, c);
                    break;
                default:
                    append_lower(out, c, text_, start, position);
                    break;
            }
        }
    }

  private:
    Case choose(char32_t c) {
        switch (to_) {
            case Case::title: {
                const bool inside_word = was_cased_;
                was_cased_ = is_cased(c);
                return inside_word ? Case::lower : Case::title;
            }
            case Case::capitalize:
                return std::exchange(is_first_, false) ? Case::title : Case::lower;
            case Case::swap:
                return is_upper(c) ? Case::lower : Case::upper;
            default:
                return to_;
        }
    }

    std::string_view text_;
    Case to_;
    bool was_cased_ = false, is_first_ = true;
};

}  // namespace

Text change_case(const Text& text, Case to) {
    if ((to == Case::lower || to == Case::upper) && count_chars(text.bytes) == text.size() &&
        text.origin.is_uniform()) {
        std::string mapped = text.bytes;
        const char first = to == Case::lower ? 'A' : 'a';
        for (char& c : mapped) {
            if (c >= first && c < first + 26) c = static_cast<char>(c ^ 0x20);
        }
        return Text(std::move(mapped), text.origin.first());
    }
    CaseMapper mapper(text.bytes, to);
    Text out;
    std::string mapped;
    text.origin.for_each_run(0, text.size(), [&](size_t begin, size_t end, bool is_content) {
        mapped.clear();
        mapper.map(mapped, begin, end);
        out.add(mapped, is_content);
    });
    return out;
}

std::string to_lower(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    CaseMapper(text, Case::lower).map(out, 0, text.size());
    return out;
}

}  // namespace hokku::jinja
