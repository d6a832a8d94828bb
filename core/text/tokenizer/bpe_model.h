// SPDX-License-Identifier: Apache-2.0
// BpeModel: the tokens and merges of a BPE vocabulary, and how one piece of text
// becomes tokens by them. Knows neither pre-tokenizers nor special tokens.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "gguf/gguf_file.h"
#include "hokku/result.h"
#include "hokku/tokenizer.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/vocabulary.h"

namespace hokku {

/// What the texts of a vocabulary are written in, and what merging starts from.
enum class BpeAlphabet {
    bytes,       ///< GPT-2's characters for the bytes; merging starts from bytes.
    characters,  ///< Plain UTF-8; merging starts from characters, or from the <0xHH> tokens of
                 ///< those that are no token.
};

struct BpeOptions {
    BpeAlphabet alphabet = BpeAlphabet::bytes;
    bool ignore_merges = false;  ///< A piece that is a token is taken whole.
};

/// Threads: immutable but for a memo of atomics; safe from any thread, each with its own Scratch.
class BpeModel {
  public:
    /// Reads tokenizer.ggml.merges. Merges that name tokens which are not there are passed over.
    ///
    /// Errors : bad_format: no merges, or one that is not two texts with a space between.
    static Result<BpeModel> read(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                                 BpeOptions options);

    /// Working memory of one thread, reused from piece to piece.
    class Scratch {
        friend class BpeModel;
        struct Symbol {
            int32_t previous = -1, next = -1;
            TokenId id = -1;
            uint32_t rank = 0;  // of the merge with the next symbol
        };
        std::vector<Symbol> symbols;
        std::vector<uint64_t> queue;  // rank << 32 | index of the left symbol
        std::vector<TokenId> ids;

        size_t num_rounds = 0;
        /// Asks the stop token now and then.
        bool is_stopped() {
            constexpr size_t kRoundsPerLook = 16'384;  // a few milliseconds
            return ++num_rounds % kRoundsPerLook == 0 && stop.stop_requested();
        }

      public:
        std::stop_token stop;
    };

    /// Appends the tokens of `piece`: lowest rank first, leftmost on ties. A byte without a token
    /// gives none. Once a stop is requested the tokens are some or other.
    ///
    /// Cost   : n log n for n bytes; one look-up for a piece that is itself a token.
    void append_ids(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;

    /// The bytes that a token stands for.
    [[nodiscard]] std::string_view bytes_of(TokenId id) const {
        return bytes_[static_cast<size_t>(id)];
    }
    /// A token by the bytes it stands for, special ones excepted.
    [[nodiscard]] std::optional<TokenId> find(std::string_view bytes) const {
        return by_bytes_.find(bytes_.bytes(), bytes);
    }

  private:
    enum class Whole : uint8_t { untried, yes, no };  // do a token's own bytes merge to it?

    void read_bytes(const Vocabulary& vocabulary);
    void add_merge(std::string_view text, size_t split, uint32_t rank, std::string& bytes);
    void append_symbols(std::string_view piece, Scratch& scratch) const;
    bool append_bytes(std::string_view text, std::string& out) const;
    void merge(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
    void merge_few(std::vector<TokenId>& symbols) const;
    void merge_many(Scratch& scratch) const;
    [[nodiscard]] uint32_t rank_of(TokenId left, TokenId right) const;

    StringBlock bytes_;
    TokenTable by_bytes_{0, 0};
    MergeTable merges_{0, 0};
    std::array<TokenId, 256> id_of_byte_{};  // -1: none
    size_t longest_token_ = 0;
    BpeOptions options_;
    std::unique_ptr<std::atomic<Whole>[]> memo_;
};

}  // namespace hokku
