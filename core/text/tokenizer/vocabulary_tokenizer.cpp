// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/vocabulary_tokenizer.h"

#include <fmt/format.h>

#include <exception>

#include "base/cancelled.h"
#include "base/try.h"

namespace hokku {
namespace {

Error too_long(size_t num_bytes) {
    return Error{ErrorCode::limit_exceeded,
                 fmt::format("the text to tokenize has {} bytes", num_bytes), "",
                 fmt::format("at most {}", kMaxEncodeBytes)};
}

}  // namespace

Result<std::vector<TokenId>> VocabularyTokenizer::encode_masked(
    std::string_view text, std::string_view content_mask, const EncodeOptions& options) const {
    if (text.size() > kMaxEncodeBytes) return too_long(text.size());
    const SpecialTokens& special = parts_.special;
    std::vector<TokenId> ids;
    try {
        HOKKU_CHECK(append_ids(text, content_mask, options, ids));
        if (options.stop.stop_requested()) return cancelled();
        // A prompt whose template writes the token itself does not get it twice.
        if (options.add_special && special.add_bos && special.bos &&
            (ids.empty() || ids.front() != *special.bos))
            ids.insert(ids.begin(), *special.bos);
        if (options.add_special && special.add_eos && special.eos &&
            (ids.empty() || ids.back() != *special.eos))
            ids.push_back(*special.eos);
    } catch (const std::exception& failure) {
        return Error{ErrorCode::out_of_memory,
                     fmt::format("tokenizing {} bytes fails: {}", text.size(), failure.what()), "",
                     ""};
    }
    return ids;
}

Result<std::vector<TokenId>> VocabularyTokenizer::encode(std::string_view text,
                                                         EncodeOptions options) const {
    return encode_masked(text, {}, options);
}

Result<std::vector<TokenId>> VocabularyTokenizer::encode_parts(std::span<const PromptPart> parts,
                                                               bool add_special,
                                                               const std::stop_token& stop) const {
    size_t num_bytes = 0;
    for (const PromptPart& part : parts) {
        if (part.text.size() > kMaxEncodeBytes - num_bytes)
            return too_long(num_bytes + part.text.size());
        num_bytes += part.text.size();
    }
    std::string text;
    std::string mask;
    text.reserve(num_bytes);
    mask.reserve(num_bytes);
    for (const PromptPart& part : parts) {
        text += part.text;
        mask.append(part.text.size(), part.is_content ? '\1' : '\0');
    }
    return encode_masked(text, mask,
                         {.parse_special = true, .add_special = add_special, .stop = stop});
}

std::string VocabularyTokenizer::decode(std::span<const TokenId> ids, bool keep_special) const {
    TokenTextDecoder decoder(*this, keep_special);
    std::string text;
    for (const TokenId id : ids) decoder.push(id, text);
    decoder.finish(text);
    text.erase(0, num_prefix_bytes(text));
    return text;
}

TokenKind VocabularyTokenizer::kind(TokenId id) const {
    return vocabulary().contains(id) ? vocabulary().kind(id) : TokenKind::unused;
}

std::string VocabularyTokenizer::token_bytes(TokenId id, bool keep_special) const {
    std::string bytes;
    append_token_bytes(id, keep_special, bytes);
    return bytes;
}

void VocabularyTokenizer::append_token_bytes(TokenId id, bool keep_special,
                                             std::string& out) const {
    if (!vocabulary().contains(id)) return;
    if (!is_hidden_kind(vocabulary().kind(id))) {
        append_text_bytes(id, out);
    } else if (keep_special) {
        out.append(vocabulary().text(id));
    }
}

std::string_view VocabularyTokenizer::token_text(TokenId id) const {
    return vocabulary().contains(id) ? vocabulary().text(id) : std::string_view{};
}

TokenTextDecoder::TokenTextDecoder(const Tokenizer& tokenizer, bool keep_special)
    : tokenizer_(tokenizer),
      keep_special_(keep_special),
      has_byte_runs_(tokenizer.model_kind() != "bpe"),
      assembler_(has_byte_runs_ ? BrokenBytes::one_per_byte : BrokenBytes::one_per_subpart) {
    bytes_.reserve(kUsualTokenBytes);
}

void TokenTextDecoder::push(TokenId id, std::string& out) {
    if (has_byte_runs_ && tokenizer_.kind(id) != TokenKind::byte) assembler_.flush(out);
    bytes_.clear();
    tokenizer_.append_token_bytes(id, keep_special_, bytes_);
    assembler_.append(bytes_, out);
    if (has_byte_runs_ && tokenizer_.kind(id) != TokenKind::byte) assembler_.flush(out);
}

}  // namespace hokku
