// SPDX-License-Identifier: Apache-2.0
// Vocabulary: the tokens of a model file (texts, kinds, special ids), checked and copied out of
// the mapping, so that it outlives the file. What both kinds of tokenizer share; it cannot encode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf_file.h"
#include "hokku/result.h"
#include "hokku/tokenizer.h"
#include "text/tokenizer/token_table.h"

namespace hokku {

inline constexpr size_t kMaxTokenTextBytes = 65535;
/// Four times the largest that is known (262,144); bounds what the tables of a hostile file take.
inline constexpr size_t kMaxVocabulary = size_t{1} << 20;

/// Byte strings by index in one block. append() may move the block: views are valid until then.
class StringBlock {
  public:
    void reserve(size_t num_strings, size_t num_bytes);
    void append(std::string_view text);
    /// Ends the string that was built by appending to bytes().
    void end_string() { ends_.push_back(static_cast<uint32_t>(bytes_.size())); }
    [[nodiscard]] std::string& bytes() { return bytes_; }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] size_t size() const { return ends_.size(); }
    [[nodiscard]] uint32_t offset(size_t index) const { return index == 0 ? 0 : ends_[index - 1]; }
    [[nodiscard]] std::string_view operator[](size_t index) const {
        const uint32_t begin = offset(index);
        return {bytes_.data() + begin, ends_[index] - begin};
    }

  private:
    std::string bytes_;
    std::vector<uint32_t> ends_;
};

/// Threads: immutable after read; safe from any thread.
class Vocabulary {
  public:
    /// Reads tokenizer.ggml.tokens and .token_type. Without the latter every token is normal, but
    /// "<0xHH>" is a byte where `bytes_by_text` says so.
    ///
    /// Errors : bad_format: no tokens, a text over 65,535 bytes, as many kinds as tokens are not
    ///          there, an unknown kind.
    static Result<Vocabulary> read(const GgufMetadata& metadata, bool bytes_by_text);

    [[nodiscard]] size_t size() const { return texts_.size(); }
    [[nodiscard]] bool contains(TokenId id) const {
        return id >= 0 && static_cast<size_t>(id) < size();
    }
    /// Needs: contains(id), as the next.
    [[nodiscard]] std::string_view text(TokenId id) const {
        return texts_[static_cast<size_t>(id)];
    }
    [[nodiscard]] TokenKind kind(TokenId id) const { return kinds_[static_cast<size_t>(id)]; }
    [[nodiscard]] const StringBlock& texts() const { return texts_; }
    /// The first token with this text whose kind is not normal.
    [[nodiscard]] std::optional<TokenId> find_special(std::string_view text) const {
        return specials_.find(texts_.bytes(), text);
    }

  private:
    StringBlock texts_;
    std::vector<TokenKind> kinds_;
    TokenTable specials_{0, 0};
};

/// The byte of a text "<0xHH>"; nothing when the text is not exactly of that form.
std::optional<uint8_t> parse_byte_text(std::string_view text);

/// True when the vocabulary has a token for each byte, false when it has none at all.
///
/// Errors : bad_format, naming `where`: a byte token whose text is not <0xHH>, two for one byte,
///          or some bytes without one.
Result<bool> has_byte_tokens(const Vocabulary& vocabulary, std::string_view where);

/// What the family of a tokenizer adds where the file says nothing.
struct SpecialDefaults {
    std::optional<TokenId> bos{}, eos{}, unknown{};
    bool add_bos = false;
};

/// Reads the special ids of the file. An id outside the vocabulary counts as absent. The end of a
/// generation is eos, eot, eom and every control token whose text is a known end of turn.
///
/// Errors : bad_format: an id that is not an integer, a flag that is not a boolean.
Result<SpecialTokens> read_special_tokens(const GgufMetadata& metadata,
                                          const Vocabulary& vocabulary,
                                          const SpecialDefaults& defaults);

}  // namespace hokku
