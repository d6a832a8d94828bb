// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back, built from a model file's vocabulary. TokenStream: ids
// to text piece by piece, always whole characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/prompt_part.h"
#include "hokku/result.h"

namespace hokku {

using TokenId = int32_t;

enum class TokenKind { normal, unknown, control, user_defined, unused, byte };

/// Ids from the file; each is below num_tokens() or absent.
struct SpecialTokens {
    std::optional<TokenId> bos, eos, eot, eom, unknown, padding;
    bool add_bos = false;  ///< The model expects BOS at the start of a prompt.
    bool add_eos = false;
    /// Every id that ends a generation (eos, eot, eom and the family's own), ascending.
    std::vector<TokenId> end_of_generation;
};

struct EncodeOptions {
    bool parse_special = false;  ///< Text of control tokens becomes the token. Never for user text.
    bool add_special = false;    ///< Add BOS / EOS where the file says so.
    std::stop_token stop = {};   ///< Looked at all along a long text.
};

/// Errors : encode: limit_exceeded above the prompt budget; cancelled. Invalid UTF-8 is not an
///          error: each maximal invalid subpart is read as U+FFFD (byte-level BPE: as its bytes).
/// Threads: safe from any thread.
/// Cost   : linear in the text for any input.
class Tokenizer {
  public:
    virtual ~Tokenizer() = default;
    [[nodiscard]] virtual Result<std::vector<TokenId>> encode(std::string_view text,
                                                              EncodeOptions options) const = 0;
    /// Ids of a rendered prompt: the parts are encoded as one text (so that merges across their
    /// borders are those the model was trained with), but what may become a special token depends
    /// on its origin. Control tokens are only recognised where they lie wholly inside template
    /// text, and so are user-defined tokens that read like markers: text in brackets (<tool_call>,
    /// [INST], <|USER|>) other than HTML tags that the chat template does not use. With them a
    /// content could forge a turn, a tool call or an image. All other user-defined tokens (runs of
    /// newlines and spaces, letters, HTML tags) are recognised in content too, as the model was
    /// trained with them. encode() recognises every user-defined token, as other engines do.
    [[nodiscard]] virtual Result<std::vector<TokenId>> encode_parts(
        std::span<const PromptPart> parts, bool add_special,
        const std::stop_token& stop = {}) const = 0;
    /// Text of a whole sequence; always valid UTF-8. Control tokens give "" unless `keep_special`;
    /// ids out of range are skipped. The space that some SentencePiece models put before a text is
    /// taken off again (TokenStream, which may continue a text, keeps it).
    [[nodiscard]] virtual std::string decode(std::span<const TokenId> ids,
                                             bool keep_special) const = 0;
    [[nodiscard]] virtual size_t num_tokens() const = 0;
    [[nodiscard]] virtual TokenKind kind(TokenId id) const = 0;
    /// The bytes one token stands for (may be a part of a character); "" for control tokens unless
    /// keep_special. Concatenating the bytes of all tokens gives the text for byte-level BPE.
    [[nodiscard]] virtual std::string token_bytes(TokenId id, bool keep_special) const = 0;
    /// As token_bytes, appended to `out`: no allocation once `out` has grown.
    virtual void append_token_bytes(TokenId id, bool keep_special, std::string& out) const {
        out += token_bytes(id, keep_special);
    }
    /// The token's text as it stands in the file.
    [[nodiscard]] virtual std::string_view token_text(TokenId id) const = 0;
    [[nodiscard]] virtual std::optional<TokenId> find_token(std::string_view text) const = 0;
    [[nodiscard]] virtual const SpecialTokens& special() const = 0;
    /// "bpe" (byte-level), "spm" or "bpe-characters" (Gemma 4), and the pre-tokenizer's name.
    [[nodiscard]] virtual std::string_view model_kind() const = 0;
    [[nodiscard]] virtual std::string_view pre_tokenizer() const = 0;
    /// Empty, or why the ids may be wrong (unknown pre-tokenizer); to be shown to the user.
    [[nodiscard]] virtual const std::string& warning() const = 0;
};

/// Opens a model file and builds its tokenizer, which then stands without the file.
///
/// Errors : those of the file; unsupported: another kind of vocabulary than BPE and
///          SentencePiece BPE; bad_format: wrong tokenizer metadata, with its key.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& path);

/// Turns a stream of tokens into a stream of whole characters.
///
/// Threads: one thread at a time. Needs the tokenizer alive.
class TokenStream {
  public:
    explicit TokenStream(const Tokenizer& tokenizer, bool keep_special = false);
    ~TokenStream();
    TokenStream(TokenStream&&) noexcept;

    /// Text that is complete after this token; valid UTF-8, may be empty. The view is valid until
    /// the next call. No allocation once its buffers have grown to the longest token.
    std::string_view push(TokenId id);
    /// What is still held back at the end (incomplete characters as U+FFFD).
    std::string_view finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace hokku
