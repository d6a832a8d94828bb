// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hokku {

namespace {

uint8_t byte_at(std::string_view text, size_t pos) {
    return static_cast<uint8_t>(text[pos]);
}

/// Allowed range of the byte after a lead byte, and how many bytes follow in all.
struct LeadByte {
    uint8_t num_following, second_min, second_max;
};

LeadByte classify_lead(uint8_t lead) {
    if (lead >= 0xC2 && lead <= 0xDF) return {1, 0x80, 0xBF};
    if (lead == 0xE0) return {2, 0xA0, 0xBF};
    if (lead == 0xED) return {2, 0x80, 0x9F};
    if (lead >= 0xE1 && lead <= 0xEF) return {2, 0x80, 0xBF};
    if (lead == 0xF0) return {3, 0x90, 0xBF};
    if (lead >= 0xF1 && lead <= 0xF3) return {3, 0x80, 0xBF};
    if (lead == 0xF4) return {3, 0x80, 0x8F};
    return {0, 0, 0};
}

/// End of the run of ASCII bytes from `pos` on.
size_t skip_ascii(std::string_view text, size_t pos) {
    constexpr uint64_t kHighBits = 0x8080808080808080u;
    while (text.size() - pos >= sizeof(uint64_t)) {
        uint64_t chunk;
        std::memcpy(&chunk, text.data() + pos, sizeof(chunk));
        if ((chunk & kHighBits) != 0) break;
        pos += sizeof(chunk);
    }
    while (pos < text.size() && byte_at(text, pos) < 0x80) ++pos;
    return pos;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, size_t pos) {
    const uint8_t lead = byte_at(text, pos);
    if (lead < 0x80) return {lead, 1, true};
    const LeadByte rule = classify_lead(lead);
    if (rule.num_following == 0) return {kReplacementCharacter, 1, false};
    char32_t code_point = lead & (0x3Fu >> rule.num_following);
    for (uint32_t i = 1; i <= rule.num_following; ++i) {
        if (pos + i >= text.size()) return {kReplacementCharacter, i, false, true};
        const uint8_t next = byte_at(text, pos + i);
        const uint8_t min = i == 1 ? rule.second_min : uint8_t{0x80};
        const uint8_t max = i == 1 ? rule.second_max : uint8_t{0xBF};
        if (next < min || next > max) return {kReplacementCharacter, i, false};
        code_point = (code_point << 6) | (next & 0x3Fu);
    }
    return {code_point, rule.num_following + 1u, true};
}

size_t utf8_prefix_bytes(std::string_view text, size_t max_bytes) {
    if (text.size() <= max_bytes) return text.size();
    // A character that crosses the limit starts at most three bytes before it.
    for (size_t back = 1; back <= std::min<size_t>(3, max_bytes); ++back) {
        const Utf8Char c = decode_utf8(text, max_bytes - back);
        if (c.valid && c.num_bytes > back) return max_bytes - back;
    }
    return max_bytes;
}

size_t valid_utf8_end(std::string_view text, size_t pos) {
    pos = skip_ascii(text, pos);
    while (pos < text.size()) {
        const Utf8Char c = decode_utf8(text, pos);
        if (!c.valid) return pos;
        pos = skip_ascii(text, pos + c.num_bytes);
    }
    return pos;
}

bool is_valid_utf8(std::string_view text) {
    return valid_utf8_end(text, 0) == text.size();
}

std::string to_valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    size_t pos = 0;
    while (pos < text.size()) {
        const size_t ascii_end = skip_ascii(text, pos);
        out.append(text.substr(pos, ascii_end - pos));
        pos = ascii_end;
        if (pos == text.size()) break;
        const Utf8Char c = decode_utf8(text, pos);
        if (c.valid) {
            out.append(text.substr(pos, c.num_bytes));
        } else {
            append_utf8(out, kReplacementCharacter);
        }
        pos += c.num_bytes;
    }
    return out;
}

void append_utf8(std::string& out, char32_t code_point) {
    const bool is_scalar =
        code_point <= 0x10FFFF && !(code_point >= 0xD800 && code_point <= 0xDFFF);
    const char32_t c = is_scalar ? code_point : kReplacementCharacter;
    const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

std::string to_printable(std::string_view text, size_t max_bytes) {
    std::string out;
    size_t pos = 0;
    while (pos < text.size()) {
        if (out.size() >= max_bytes) return out + "...";
        const Utf8Char c = decode_utf8(text, pos);
        const bool is_control =
            c.code_point < 0x20 || (c.code_point >= 0x7F && c.code_point < 0xA0);
        if (!c.valid || is_control) {
            for (uint32_t i = 0; i < c.num_bytes; ++i)
                out += fmt::format("\\x{:02x}", byte_at(text, pos + i));
        } else {
            out.append(text.substr(pos, c.num_bytes));
        }
        pos += c.num_bytes;
    }
    return out;
}

}  // namespace hokku
