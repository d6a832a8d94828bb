// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/sentencepiece_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/try.h"

namespace hokku {
namespace {

// ModelProto.SentencePiece.Type
enum class PieceType : uint8_t { normal = 1, unknown = 2, control = 3, unused = 5, byte = 6 };

// Protobuf wire types.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kFixed32 = 5;

void put_varint(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
    out.push_back(static_cast<char>(value));
}

uint64_t varint_size(uint64_t value) {
    return (static_cast<uint64_t>(std::bit_width(value | 1)) + 6) / 7;
}

void put_tag(std::string& out, uint32_t field, uint32_t wire_type) {
    put_varint(out, (field << 3) | wire_type);
}

void put_number(std::string& out, uint32_t field, uint64_t value) {
    put_tag(out, field, kVarint);
    put_varint(out, value);
}

void put_bytes(std::string& out, uint32_t field, std::string_view value) {
    put_tag(out, field, kBytes);
    put_varint(out, value.size());
    out.append(value);
}

void put_float(std::string& out, uint32_t field, float value) {
    put_tag(out, field, kFixed32);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bits >> shift));
}

void put_piece(std::string& out, std::string_view text, float score, PieceType type) {
    put_tag(out, 1, kBytes);
    // The three fields have tags of one byte; the score takes four bytes, the type one.
    put_varint(out, 1 + varint_size(text.size()) + text.size() + 5 + 2);
    put_bytes(out, 1, text);
    put_float(out, 2, score);
    put_number(out, 3, static_cast<uint64_t>(type));
}

void put_settings(std::string& out, size_t num_pieces, bool byte_fallback) {
    std::string trainer;
    put_number(trainer, 3, 2);  // model_type BPE
    put_number(trainer, 4, num_pieces);
    put_number(trainer, 35, byte_fallback ? 1 : 0);
    put_bytes(out, 2, trainer);
    std::string normalizer;
    put_bytes(normalizer, 1, "identity");
    put_number(normalizer, 3, 0);  // add_dummy_prefix
    put_number(normalizer, 4, 0);  // remove_extra_whitespaces
    put_number(normalizer, 5, 1);  // escape_whitespaces
    put_bytes(out, 3, normalizer);
}

PieceType type_of(TokenKind kind) {
    switch (kind) {
        case TokenKind::normal:
            return PieceType::normal;
        case TokenKind::unused:
            return PieceType::unused;
        case TokenKind::byte:
            return PieceType::byte;
        default:
            return PieceType::control;
    }
}

// The library refuses two pieces of one text, and empty ones. Bytes that are not UTF-8 match no
// text: what must not be found gets such a name.
std::string unmatchable_name(size_t index) {
    return fmt::format("\xFF{}", index);
}

// Longer unused pieces, which serve only as steps of a merge, would let a hostile file drive the
// library's recursive way back from them deep into the stack.
constexpr size_t kMaxUnusedBytes = 256;

// For each normal and unused token, whether the library may know it by its name: it is not empty,
// and the first of that name. Names that differ only in how a space is written are equal.
std::vector<bool> find_first_of_equals(const Vocabulary& vocabulary, TokenTable& by_text) {
    const StringBlock& texts = vocabulary.texts();
    by_text = TokenTable(vocabulary.size(), random_seed());
    std::vector<bool> is_first(vocabulary.size());
    std::vector<size_t> spaced;
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const TokenKind kind = vocabulary.kind(static_cast<TokenId>(index));
        if (kind != TokenKind::normal && kind != TokenKind::unused) continue;
        const std::string_view text = texts[index];
        is_first[index] =
            by_text.insert(texts.bytes(), texts.offset(index), static_cast<uint32_t>(text.size()),
                           static_cast<TokenId>(index)) &&
            !text.empty();
        if (text.find(' ') != std::string_view::npos) spaced.push_back(index);
    }
    std::unordered_set<std::string> names;
    for (const size_t index : spaced) {
        std::string name;
        append_escaped(texts[index], name);
        if (by_text.find(texts.bytes(), name) || !names.insert(std::move(name)).second)
            is_first[index] = false;
    }
    return is_first;
}

}  // namespace

Result<SentencePieceProto> write_sentencepiece_proto(const Vocabulary& vocabulary,
                                                     std::span<const float> scores,
                                                     std::optional<TokenId> unknown,
                                                     std::string_view where) {
    SentencePieceProto proto;
    HOKKU_TRY(proto.has_byte_fallback, has_byte_tokens(vocabulary, where));
    proto.num_tokens = vocabulary.size();
    proto.bytes.reserve(vocabulary.texts().bytes().size() + vocabulary.size() * 14);
    const std::vector<bool> is_first = find_first_of_equals(vocabulary, proto.plain_tokens);
    std::string name;
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        const PieceType type = unknown == id ? PieceType::unknown : type_of(vocabulary.kind(id));
        name.clear();
        append_escaped(vocabulary.text(id), name);
        const bool is_matched = type == PieceType::normal || type == PieceType::unused;
        const bool is_too_long = type == PieceType::unused && name.size() > kMaxUnusedBytes;
        if (is_matched && is_first[index] && !is_too_long) {
            proto.word_cuts.add_token(name);
        } else if (type != PieceType::byte) {
            name = unmatchable_name(index);
        }
        constexpr float kLargest = std::numeric_limits<float>::max();
        put_piece(proto.bytes, name, std::clamp(scores[index], -kLargest, kLargest), type);
    }
    if (!unknown)
        put_piece(proto.bytes, unmatchable_name(vocabulary.size()), 0, PieceType::unknown);
    put_settings(proto.bytes, vocabulary.size() + (unknown ? 0 : 1), proto.has_byte_fallback);
    return proto;
}

}  // namespace hokku
