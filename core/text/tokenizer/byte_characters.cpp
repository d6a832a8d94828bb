// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/byte_characters.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace hokku {
namespace {

constexpr bool stands_for_itself(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
           (byte >= 0xAE && byte <= 0xFF);
}

constexpr size_t kNumCharacters = 0x100 + 68;  // 68 bytes do not stand for themselves

constexpr std::array<int16_t, kNumCharacters> make_table() {
    std::array<int16_t, kNumCharacters> table{};
    for (auto& entry : table) entry = -1;
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        const uint32_t character = stands_for_itself(byte) ? byte : next++;
        table[character] = static_cast<int16_t>(byte);
    }
    return table;
}

constexpr auto kByteOfCharacter = make_table();

}  // namespace

bool append_bytes_of_characters(std::string_view text, std::string& out) {
    const size_t old_size = out.size();
    for (size_t k = 0; k < text.size(); ++k) {
        uint32_t character = static_cast<unsigned char>(text[k]);
        // All 256 characters lie below U+0800: one or two bytes of UTF-8.
        if (character >= 0x80) {
            const uint32_t next = k + 1 < text.size() ? static_cast<unsigned char>(text[k + 1]) : 0;
            if (character < 0xC2 || character > 0xDF || (next & 0xC0) != 0x80) {
                out.resize(old_size);
                return false;
            }
            character = ((character & 0x1F) << 6) | (next & 0x3F);
            ++k;
        }
        const int16_t byte = character < kNumCharacters ? kByteOfCharacter[character] : int16_t{-1};
        if (byte < 0) {
            out.resize(old_size);
            return false;
        }
        out.push_back(static_cast<char>(byte));
    }
    return true;
}

}  // namespace hokku
