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

namespace {

unsigned char byte_before(std::string_view text, size_t pos) {
    return static_cast<unsigned char>(text[pos - 1]);
}

bool is_after_sign(std::string_view text, size_t pos) {
    constexpr size_t kSize = kSpaceSign.size();
    return pos >= kSize && text.substr(pos - kSize, kSize) == kSpaceSign;
}

}  // namespace

void WordCuts::add_token(std::string_view escaped) {
    size_t sign = escaped.find(kSpaceSign);
    for (; sign != std::string_view::npos; sign = escaped.find(kSpaceSign, sign + 1))
        if (sign > 0 && !is_after_sign(escaped, sign))
            stands_before_sign_[byte_before(escaped, sign)] = true;
}

size_t WordCuts::find(std::string_view escaped, size_t from) const {
    size_t sign = escaped.find(kSpaceSign, from);
    while (sign != std::string_view::npos &&
           (is_after_sign(escaped, sign) || stands_before_sign_[byte_before(escaped, sign)]))
        sign = escaped.find(kSpaceSign, sign + 1);
    return sign;
}

}  // namespace hokku
