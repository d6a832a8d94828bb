// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/character_assembler.h"

#include <algorithm>

#include "base/utf8.h"

namespace hokku {

// Moves whole characters and broken bytes from `bytes` to `out`; returns how many bytes it took.
// What it leaves is empty or a cut character.
size_t CharacterAssembler::consume(std::string_view bytes, std::string& out) const {
    size_t pos = 0;
    while (pos < bytes.size()) {
        const size_t valid_end = valid_utf8_end(bytes, pos);
        out.append(bytes.substr(pos, valid_end - pos));
        pos = valid_end;
        if (pos == bytes.size()) break;
        const Utf8Char broken = decode_utf8(bytes, pos);
        if (broken.cut) break;
        append_utf8(out, kReplacementCharacter);
        pos += rule_ == BrokenBytes::one_per_byte ? 1 : broken.num_bytes;
    }
    return pos;
}

void CharacterAssembler::append(std::string_view bytes, std::string& out) {
    while (num_held_ > 0 && !bytes.empty()) {
        held_[num_held_++] = bytes.front();
        bytes.remove_prefix(1);
        const size_t taken = consume({held_.data(), num_held_}, out);
        num_held_ -= taken;
        std::copy_n(held_.data() + taken, num_held_, held_.data());
    }
    bytes.remove_prefix(consume(bytes, out));
    if (num_held_ == 0) {
        num_held_ = bytes.size();
        std::copy_n(bytes.data(), num_held_, held_.data());
    }
}

void CharacterAssembler::flush(std::string& out) {
    const size_t num_marks = rule_ == BrokenBytes::one_per_byte ? num_held_ : num_held_ > 0 ? 1 : 0;
    for (size_t k = 0; k < num_marks; ++k) append_utf8(out, kReplacementCharacter);
    num_held_ = 0;
}

}  // namespace hokku
