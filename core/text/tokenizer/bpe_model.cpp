// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/try.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_characters.h"

namespace hokku {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();
// Below this many symbols a search over all of them beats a queue (measured 16 to 128, Zen 4).
constexpr size_t kFewSymbols = 48;

}  // namespace

// Appends what a text of the vocabulary stands for; false when it is not written in the alphabet.
bool BpeModel::append_bytes(std::string_view text, std::string& out) const {
    if (options_.alphabet == BpeAlphabet::bytes) return append_bytes_of_characters(text, out);
    out.append(text);
    return true;
}

void BpeModel::read_bytes(const Vocabulary& vocabulary) {
    bytes_.reserve(vocabulary.size(), vocabulary.texts().bytes().size());
    by_bytes_ = TokenTable(vocabulary.size(), random_seed());
    id_of_byte_.fill(-1);
    std::vector<TokenId> plain;
    plain.reserve(vocabulary.size());
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        const TokenKind kind = vocabulary.kind(id);
        const bool is_bytes = options_.alphabet == BpeAlphabet::bytes;
        const auto byte = is_bytes || kind != TokenKind::byte
                              ? std::nullopt
                              : parse_byte_text(vocabulary.text(id));
        const bool is_plain = kind == TokenKind::normal || (is_bytes && kind == TokenKind::byte);
        if (byte) {
            const char text = static_cast<char>(*byte);
            bytes_.append({&text, 1});
            id_of_byte_[*byte] = id;
        } else if (is_plain && append_bytes(vocabulary.text(id), bytes_.bytes())) {
            bytes_.end_string();
            plain.push_back(id);
        } else {
            bytes_.append(vocabulary.text(id));
        }
    }
    for (const TokenId id : plain) {
        const auto index = static_cast<size_t>(id);
        const size_t length = bytes_[index].size();
        by_bytes_.insert(bytes_.bytes(), bytes_.offset(index), static_cast<uint32_t>(length), id);
        longest_token_ = std::max(longest_token_, length);
    }
    // An ASCII character is its byte in both alphabets; above, only byte strings are one byte long.
    for (size_t byte = 0; byte < id_of_byte_.size(); ++byte) {
        const char text = static_cast<char>(byte);
        if (const auto id = find({&text, 1})) id_of_byte_[byte] = *id;
    }
}

void BpeModel::add_merge(std::string_view text, size_t split, uint32_t rank, std::string& bytes) {
    bytes.clear();
    if (!append_bytes(text.substr(0, split), bytes)) return;
    const size_t left_size = bytes.size();
    if (!append_bytes(text.substr(split + 1), bytes)) return;
    const std::string_view both = bytes;
    const auto left = find(both.substr(0, left_size));
    const auto right = find(both.substr(left_size));
    const auto merged = find(both);
    if (left && right && merged) merges_.insert(*left, *right, {rank, *merged});
}

Result<BpeModel> BpeModel::read(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                                BpeOptions options) {
    const auto error = [&metadata](std::string what, std::string expected) {
        return Error{ErrorCode::bad_format, std::move(what),
                     fmt::format("{}, key {}", metadata.file_name(), kMergesKey),
                     std::move(expected)};
    };
    HOKKU_TRY(const GgufStringArray* const merges, metadata.find_strings(kMergesKey));
    if (merges == nullptr) return error("the vocabulary has no merges", "a list of merges");
    if (merges->size() >= kNoRank) return error("too many merges", "less than 2^32");
    BpeModel model;
    model.options_ = options;
    model.read_bytes(vocabulary);
    model.merges_ = MergeTable(merges->size(), random_seed());
    std::string bytes;
    for (size_t rank = 0; rank < merges->size(); ++rank) {
        const std::string_view text = (*merges)[rank];
        // The first character may itself be a space.
        const size_t split = text.find(' ', 1);
        if (split == std::string_view::npos || split + 1 == text.size())
            return error(fmt::format("merge {} has one part", rank),
                         "two texts with a space between");
        model.add_merge(text, split, static_cast<uint32_t>(rank), bytes);
    }
    model.memo_.reset(new std::atomic<Whole>[vocabulary.size()]());
    return model;
}

uint32_t BpeModel::rank_of(TokenId left, TokenId right) const {
    const Merge* found = merges_.find(left, right);
    return found == nullptr ? kNoRank : found->rank;
}

void BpeModel::append_ids(std::string_view piece, Scratch& scratch,
                          std::vector<TokenId>& ids) const {
    const auto whole = piece.size() <= longest_token_ ? find(piece) : std::nullopt;
    if (!whole) return merge(piece, scratch, ids);
    if (options_.ignore_merges) return ids.push_back(*whole);
    // Most words are tokens, and nearly all tokens are what their bytes merge to: tried once each.
    std::atomic<Whole>& memo = memo_[static_cast<size_t>(*whole)];
    const Whole known = memo.load(std::memory_order_relaxed);
    if (known == Whole::yes) return ids.push_back(*whole);
    const size_t first = ids.size();
    merge(piece, scratch, ids);
    if (known == Whole::untried) {
        const bool is_whole = ids.size() == first + 1 && ids.back() == *whole;
        memo.store(is_whole ? Whole::yes : Whole::no, std::memory_order_relaxed);
    }
}

void BpeModel::append_symbols(std::string_view piece, Scratch& scratch) const {
    std::vector<TokenId>& symbols = scratch.ids;
    for (size_t pos = 0; pos < piece.size() && !scratch.is_stopped();) {
        size_t num_bytes = 1;
        const bool is_ascii = static_cast<unsigned char>(piece[pos]) < 0x80;
        if (options_.alphabet == BpeAlphabet::characters && !is_ascii) {
            num_bytes = decode_utf8(piece, pos).num_bytes;
            if (const auto id = find(piece.substr(pos, num_bytes))) {
                symbols.push_back(*id);
                pos += num_bytes;
                continue;
            }
        }
        for (; num_bytes > 0; --num_bytes, ++pos) {
            const TokenId id = id_of_byte_[static_cast<unsigned char>(piece[pos])];
            if (id >= 0) symbols.push_back(id);
        }
    }
}

void BpeModel::merge(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
    scratch.ids.clear();
    append_symbols(piece, scratch);
    if (scratch.ids.size() <= kFewSymbols) {
        merge_few(scratch.ids);
    } else {
        merge_many(scratch);
    }
    ids.insert(ids.end(), scratch.ids.begin(), scratch.ids.end());
}

void BpeModel::merge_few(std::vector<TokenId>& symbols) const {
    std::array<uint32_t, kFewSymbols> ranks{};  // of symbol k with symbol k + 1
    size_t size = symbols.size();
    for (size_t k = 0; k + 1 < size; ++k) ranks[k] = rank_of(symbols[k], symbols[k + 1]);
    while (size > 1) {
        const auto ranks_end = ranks.begin() + static_cast<std::ptrdiff_t>(size - 1);
        const auto best = std::min_element(ranks.begin(), ranks_end);
        if (*best == kNoRank) break;
        const auto k = static_cast<size_t>(best - ranks.begin());
        symbols[k] = merges_.find(symbols[k], symbols[k + 1])->merged;
        std::copy(best + 1, ranks_end, best);
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(k) + 1);
        --size;
        if (k + 1 < size) ranks[k] = rank_of(symbols[k], symbols[k + 1]);
        if (k > 0) ranks[k - 1] = rank_of(symbols[k - 1], symbols[k]);
    }
}

// A linked list of symbols and a queue of pairs. A queue entry counts only while its left symbol
// still has the rank that it was queued with; ranks name pairs uniquely.
void BpeModel::merge_many(Scratch& scratch) const {
    auto& symbols = scratch.symbols;
    auto& queue = scratch.queue;
    const auto size = static_cast<int32_t>(scratch.ids.size());
    symbols.resize(scratch.ids.size());
    queue.clear();
    const auto symbol_at = [&symbols](int32_t index) -> Scratch::Symbol& {
        return symbols[static_cast<size_t>(index)];
    };
    const auto rank_at = [&](int32_t index) {
        Scratch::Symbol& symbol = symbol_at(index);
        symbol.rank = symbol.next < 0 ? kNoRank : rank_of(symbol.id, symbol_at(symbol.next).id);
        return symbol.rank != kNoRank;
    };
    const auto entry_of = [&](int32_t index) {
        return (uint64_t{symbol_at(index).rank} << 32) | static_cast<uint32_t>(index);
    };
    for (int32_t k = 0; k < size; ++k)
        symbol_at(k) = {k - 1, k + 1 < size ? k + 1 : -1, scratch.ids[static_cast<size_t>(k)],
                        kNoRank};
    for (int32_t k = 0; k < size && !scratch.is_stopped(); ++k)
        if (rank_at(k)) queue.push_back(entry_of(k));
    std::make_heap(queue.begin(), queue.end(), std::greater<>{});
    const auto requeue = [&](int32_t index) {
        if (index < 0 || !rank_at(index)) return;
        queue.push_back(entry_of(index));
        std::push_heap(queue.begin(), queue.end(), std::greater<>{});
    };
    while (!queue.empty() && !scratch.is_stopped()) {
        std::pop_heap(queue.begin(), queue.end(), std::greater<>{});
        const uint64_t entry = queue.back();
        queue.pop_back();
        const auto index = static_cast<int32_t>(entry & 0xFFFFFFFFu);
        Scratch::Symbol& left = symbol_at(index);
        if (left.rank == kNoRank || left.rank != entry >> 32) continue;
        Scratch::Symbol& right = symbol_at(left.next);
        left.id = merges_.find(left.id, right.id)->merged;
        left.next = right.next;
        right.rank = kNoRank;
        if (left.next >= 0) symbol_at(left.next).previous = index;
        requeue(index);
        requeue(left.previous);
    }
    scratch.ids.clear();
    for (int32_t k = size > 0 ? 0 : -1; k >= 0; k = symbol_at(k).next)
        scratch.ids.push_back(symbol_at(k).id);
}

}  // namespace hokku
