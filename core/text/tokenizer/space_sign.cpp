// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/space_sign.h"

#include <algorithm>
#include <cstddef>

namespace hokku {

void append_escaped(std::string_view text, std::string& out) {
    for (size_t pos = 0; pos < text.size();) {
        const size_t space = std::min(text.find(' ', pos), text.size());
        out.append(text.substr(pos, space - pos));
        if (space < text.size()) out.append(kSpaceSign);
        pos = space + 1;
    }
}

void append_unescaped(std::string_view text, std::string& out) {
    for (size_t pos = 0; pos < text.size();) {
        const size_t sign = std::min(text.find(kSpaceSign, pos), text.size());
        out.append(text.substr(pos, sign - pos));
        if (sign < text.size()) out.push_back(' ');
        pos = sign + kSpaceSign.size();
    }
}

bool crosses_space(std::string_view escaped) {
    size_t sign = escaped.find(kSpaceSign);
    size_t run_end = 0;  // of the signs that the piece starts with
    for (; sign == run_end; sign = escaped.find(kSpaceSign, run_end)) run_end += kSpaceSign.size();
    return sign != std::string_view::npos;
}

size_t find_word_start(std::string_view escaped, size_t from) {
    constexpr size_t kSize = kSpaceSign.size();
    size_t sign = escaped.find(kSpaceSign, from);
    while (sign != std::string_view::npos && sign >= kSize &&
           escaped.substr(sign - kSize, kSize) == kSpaceSign)
        sign = escaped.find(kSpaceSign, sign + kSize);
    return sign;
}

}  // namespace hokku
