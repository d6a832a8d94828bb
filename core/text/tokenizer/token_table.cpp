// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/token_table.h"

#include <bit>
#include <cstring>
#include <random>

namespace hokku {
namespace {

// Both halves of the 128-bit product folded: every input bit reaches every output bit.
uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a} * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kOdd1 = 0xA0761D6478BD642Fu;
constexpr uint64_t kOdd2 = 0xE7037ED1A0B428DBu;

uint64_t hash_bytes(std::string_view key, uint64_t seed) {
    uint64_t hash = seed ^ (key.size() * kOdd1);
    const char* at = key.data();
    size_t left = key.size();
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, at, 8);
        hash = mix(hash ^ word, kOdd2);
    }
    uint64_t tail = 0;
    if (left >= 4) {  // two overlapping words
        uint32_t first = 0;
        uint32_t last = 0;
        std::memcpy(&first, at, 4);
        std::memcpy(&last, at + left - 4, 4);
        tail = (uint64_t{first} << 32) | last;
    } else if (left > 0) {
        const auto byte = [at](size_t index) { return uint64_t{static_cast<uint8_t>(at[index])}; };
        tail = (byte(0) << 16) | (byte(left / 2) << 8) | byte(left - 1);
    }
    return mix(hash ^ tail ^ kOdd1, kOdd2 ^ seed);
}

size_t table_size_for(size_t num_keys) {
    return std::bit_ceil(num_keys + num_keys / 2 + 8);  // at most two thirds full
}

}  // namespace

uint64_t random_seed() {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
}

TokenTable::TokenTable(size_t num_keys, uint64_t seed)
    : slots_(table_size_for(num_keys)), mask_(slots_.size() - 1), seed_(seed) {}

bool TokenTable::insert(std::string_view block, uint32_t offset, uint32_t length, TokenId id) {
    const std::string_view key = block.substr(offset, length);
    const uint64_t hash = hash_bytes(key, seed_);
    const auto tag = static_cast<uint16_t>(hash >> 48);
    size_t index = hash & mask_;
    while (slots_[index].id >= 0) {
        const Slot& slot = slots_[index];
        if (slot.tag == tag && slot.length == length && block.substr(slot.offset, length) == key)
            return false;
        index = (index + 1) & mask_;
    }
    slots_[index] = {offset, static_cast<uint16_t>(length), tag, id};
    return true;
}

std::optional<TokenId> TokenTable::find(std::string_view block, std::string_view key) const {
    const uint64_t hash = hash_bytes(key, seed_);
    const auto tag = static_cast<uint16_t>(hash >> 48);
    for (size_t index = hash & mask_; slots_[index].id >= 0; index = (index + 1) & mask_) {
        const Slot& slot = slots_[index];
        if (slot.tag == tag && slot.length == key.size() &&
            std::memcmp(block.data() + slot.offset, key.data(), key.size()) == 0)
            return slot.id;
    }
    return std::nullopt;
}

MergeTable::MergeTable(size_t num_merges, uint64_t seed)
    : slots_(table_size_for(num_merges)),
      mask_(slots_.size() - 1),
      shift_(64 - std::countr_zero(slots_.size())),
      multiplier_(seed | 1) {}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t index = first_slot(key);
    while (slots_[index].key != kEmpty) {
        if (slots_[index].key == key) return;
        index = (index + 1) & mask_;
    }
    slots_[index] = {key, merge};
}

}  // namespace hokku
