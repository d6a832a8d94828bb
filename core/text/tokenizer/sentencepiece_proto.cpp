// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/sentencepiece_proto.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku {
namespace {

// ModelProto.SentencePiece.Type
enum class PieceType : uint8_t { normal = 1, unknown = 2, unused = 5, byte = 6 };

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

// The library refuses a piece without a name. Bytes that are not UTF-8 match no text.
constexpr std::string_view kUnknownName = "\xFF";

// Longer unused pieces, which serve only as steps of a merge, would let a hostile file drive the
// library's recursive way back from them deep into the stack.
constexpr size_t kMaxUnusedBytes = 256;

// The name of a token that has one, or of a byte; in `buffer`, which the next call may share.
std::string_view name_of(TokenId id, const Vocabulary& vocabulary, std::string& buffer) {
    buffer.clear();
    append_escaped(vocabulary.text(id), buffer);
    return buffer;
}

// Gives names to the first tokens of their text. Texts that differ only in how a space is written
// have one name, and those without a space go before; the others are returned.
std::vector<TokenId> name_unspaced_tokens(const Vocabulary& vocabulary, SentencePieces& pieces) {
    const StringBlock& texts = vocabulary.texts();
    std::vector<TokenId> spaced;
    pieces.by_text = TokenTable(vocabulary.size(), random_seed());
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        const TokenKind kind = vocabulary.kind(id);
        if (kind != TokenKind::normal && kind != TokenKind::unused) continue;
        const std::string_view text = texts[index];
        if (!pieces.by_text.insert(texts.bytes(), texts.offset(index),
                                   static_cast<uint32_t>(text.size()), id))
            continue;
        const bool has_space = text.find(' ') != std::string_view::npos;
        pieces.is_named[index] = !has_space && !text.empty();
        if (has_space) spaced.push_back(id);
    }
    return spaced;
}

void name_spaced_tokens(std::span<const TokenId> spaced, const Vocabulary& vocabulary,
                        SentencePieces& pieces) {
    StringBlock& names = pieces.spaced_names;
    pieces.by_spaced_name = TokenTable(spaced.size(), random_seed());
    for (const TokenId id : spaced) {
        const size_t index = names.size();
        append_escaped(vocabulary.text(id), names.bytes());
        names.end_string();
        const std::string_view name = names[index];
        if (name.size() > kMaxTokenTextBytes ||
            pieces.by_text.find(vocabulary.texts().bytes(), name))
            continue;
        pieces.is_named[static_cast<size_t>(id)] = pieces.by_spaced_name.insert(
            names.bytes(), names.offset(index), static_cast<uint32_t>(name.size()), id);
    }
}

}  // namespace

Result<SentencePieces> read_sentencepieces(const Vocabulary& vocabulary, std::vector<float> scores,
                                           std::optional<TokenId> unknown, std::string_view where) {
    SentencePieces pieces;
    pieces.unknown = unknown;
    pieces.scores = std::move(scores);
    constexpr float kLargest = std::numeric_limits<float>::max();
    for (float& score : pieces.scores) score = std::clamp(score, -kLargest, kLargest);
    HOKKU_CHECK(has_byte_tokens(vocabulary, where));
    pieces.is_named.resize(vocabulary.size());
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        if (vocabulary.kind(id) == TokenKind::byte) pieces.bytes.push_back(id);
    }
    name_spaced_tokens(name_unspaced_tokens(vocabulary, pieces), vocabulary, pieces);
    std::string buffer;
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        if (!pieces.is_named[index]) continue;
        const auto id = static_cast<TokenId>(index);
        const std::string_view name = name_of(id, vocabulary, buffer);
        if (vocabulary.kind(id) == TokenKind::unused && name.size() > kMaxUnusedBytes) {
            pieces.is_named[index] = false;
            continue;
        }
        pieces.longest_name = std::max(pieces.longest_name, name.size());
        pieces.word_cuts.add_token(name);
    }
    return pieces;
}

std::vector<TokenId> unnamed_pieces(const SentencePieces& pieces) {
    std::vector<TokenId> ids = pieces.bytes;
    if (pieces.unknown) ids.push_back(*pieces.unknown);
    return ids;
}

namespace {

std::optional<TokenId> find_named(std::string_view name, const SentencePieces& pieces,
                                  const Vocabulary& vocabulary) {
    std::optional<TokenId> id = pieces.by_text.find(vocabulary.texts().bytes(), name);
    if (!id && pieces.spaced_names.size() > 0)
        id = pieces.by_spaced_name.find(pieces.spaced_names.bytes(), name);
    return id && pieces.is_named[static_cast<size_t>(*id)] ? id : std::nullopt;
}

}  // namespace

std::vector<TokenId> all_pieces(const SentencePieces& pieces) {
    std::vector<TokenId> ids = unnamed_pieces(pieces);
    for (size_t index = 0; index < pieces.is_named.size(); ++index)
        if (pieces.is_named[index]) ids.push_back(static_cast<TokenId>(index));
    return ids;
}

std::vector<TokenId> pieces_within(std::string_view escaped, const SentencePieces& pieces,
                                   const Vocabulary& vocabulary) {
    std::vector<TokenId> named;
    for (size_t begin = 0; begin < escaped.size();) {
        const size_t first_end = begin + decode_utf8(escaped, begin).num_bytes;
        for (size_t end = first_end;; end += decode_utf8(escaped, end).num_bytes) {
            if (end - begin > pieces.longest_name) break;
            if (const auto id = find_named(escaped.substr(begin, end - begin), pieces, vocabulary))
                named.push_back(*id);
            if (end == escaped.size()) break;
        }
        begin = first_end;
    }
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    std::vector<TokenId> ids = unnamed_pieces(pieces);
    ids.insert(ids.end(), named.begin(), named.end());
    return ids;
}

bool is_hashed_evenly(std::span<const TokenId> chosen, const Vocabulary& vocabulary) {
    constexpr size_t kMaxBucket = 64;
    std::unordered_multiset<size_t> hashes;  // Their own hash: buckets as the library's.
    std::string buffer;
    for (const TokenId id : chosen) {
        const size_t hash = std::hash<std::string_view>()(name_of(id, vocabulary, buffer));
        hashes.insert(hash);
        if (hashes.bucket_size(hashes.bucket(hash)) > kMaxBucket) return false;
    }
    return true;
}

std::string write_sentencepiece_proto(std::span<const TokenId> chosen, const SentencePieces& pieces,
                                      const Vocabulary& vocabulary) {
    std::string proto, buffer;
    for (const TokenId id : chosen) {
        PieceType type = PieceType::normal;
        if (pieces.unknown == id) {
            type = PieceType::unknown;
        } else if (vocabulary.kind(id) == TokenKind::byte) {
            type = PieceType::byte;
        } else if (vocabulary.kind(id) == TokenKind::unused) {
            type = PieceType::unused;
        }
        const std::string_view name =
            type == PieceType::unknown ? kUnknownName : name_of(id, vocabulary, buffer);
        put_piece(proto, name, pieces.scores[static_cast<size_t>(id)], type);
    }
    if (!pieces.unknown) put_piece(proto, kUnknownName, 0, PieceType::unknown);
    put_settings(proto, chosen.size() + (pieces.unknown ? 0 : 1), !pieces.bytes.empty());
    return proto;
}

}  // namespace hokku
