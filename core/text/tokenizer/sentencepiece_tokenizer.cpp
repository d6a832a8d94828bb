// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/try.h"
#include "base/utf8.h"
#include "text/tokenizer/sentencepiece_log.h"

namespace hokku {
namespace {

// Text is given to the library in pieces of about this size where that changes nothing: its memory
// per character is some hundred bytes.
constexpr size_t kChunkBytes = 4096;

// Bytes of text whose pieces are sought before the library gets all of them, where a call counts as
// kCallBytes more, and bytes of the longest piece if any are sought: all that costs a fraction of
// what it saves.
constexpr size_t kSoughtBytes = 4096, kCallBytes = 8, kSoughtNameBytes = 256;

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

class SentencePieceTokenizer::Library {
  public:
    sentencepiece::SentencePieceProcessor processor;
    std::vector<TokenId> tokens;  // Of its pieces.
};

// Buffers of one call.
struct SentencePieceTokenizer::Stretch {
    std::string escaped, mask, valid;
    std::vector<int> ids;
    std::stop_token stop;
};

Result<std::shared_ptr<const SentencePieceTokenizer>> SentencePieceTokenizer::create(
    TokenizerParts parts, SentencePieces pieces, SentencePieceOptions options,
    std::string_view where) {
    silence_sentencepiece();
    std::shared_ptr<const SentencePieceTokenizer> tokenizer(new SentencePieceTokenizer(
        std::move(parts), std::move(pieces), std::move(options), std::string(where)));
    // Bytes and the unknown are what it could refuse.
    HOKKU_TRY(const auto library, tokenizer->load_library(unnamed_pieces(tokenizer->pieces_)));
    return tokenizer;
}

SentencePieceTokenizer::SentencePieceTokenizer(TokenizerParts parts, SentencePieces pieces,
                                               SentencePieceOptions options, std::string where)
    : VocabularyTokenizer(std::move(parts)),
      pieces_(std::move(pieces)),
      options_(std::move(options)),
      where_(std::move(where)) {}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::optional<TokenId> SentencePieceTokenizer::find_token(std::string_view text) const {
    if (const auto id = vocabulary().find_special(text)) return id;
    return pieces_.by_text.find(vocabulary().texts().bytes(), text);
}

void SentencePieceTokenizer::append_text_bytes(TokenId id, std::string& out) const {
    const std::string_view text = vocabulary().text(id);
    if (vocabulary().kind(id) == TokenKind::byte) {
        if (const auto byte = parse_byte_text(text)) out.push_back(static_cast<char>(*byte));
        return;
    }
    append_unescaped(text, out);
}

size_t SentencePieceTokenizer::num_prefix_bytes(std::string_view decoded) const {
    return options_.add_space_prefix && !decoded.empty() && decoded.front() == ' ' ? 1 : 0;
}

Result<void> SentencePieceTokenizer::append_ids(std::string_view text,
                                                std::string_view content_mask,
                                                const EncodeOptions& options,
                                                std::vector<TokenId>& ids) const {
    Stretch stretch;
    stretch.stop = options.stop;
    Result<void> outcome;
    size_t strip_from = std::string_view::npos;  // where a token that takes whitespace ended
    cutter().cut(
        text,
        {.control = options.parse_special, .user_defined = false, .content_mask = content_mask},
        [&](size_t begin, size_t end) {
            if (begin == strip_from)
                while (begin < end && is_space(text[begin])) ++begin;
            const std::string_view mask =
                content_mask.empty() ? content_mask : content_mask.substr(begin, end - begin);
            if (outcome.ok())
                outcome = append_stretch(text.substr(begin, end - begin), mask, stretch, ids);
        },
        [&](TokenId id, size_t, size_t end) {
            ids.push_back(id);
            const auto& kept = options_.keeps_space_after;
            const bool strips = options_.strips_after_control &&
                                std::find(kept.begin(), kept.end(), id) == kept.end();
            strip_from = strips ? end : std::string_view::npos;
        });
    return outcome;
}

// A stretch gets its prefix, spaces become U+2581, then user-defined tokens are cut out.
Result<void> SentencePieceTokenizer::append_stretch(std::string_view text,
                                                    std::string_view content_mask, Stretch& stretch,
                                                    std::vector<TokenId>& ids) const {
    if (text.empty()) return {};
    stretch.escaped.clear();
    stretch.mask.clear();
    if (options_.add_space_prefix) stretch.escaped.append(kSpaceSign);
    if (!content_mask.empty()) {
        stretch.mask.append(stretch.escaped.size(), content_mask.front());
        for (size_t k = 0; k < text.size(); ++k)
            stretch.mask.append(text[k] == ' ' ? kSpaceSign.size() : 1, content_mask[k]);
    }
    append_escaped(text, stretch.escaped);
    const std::string_view escaped = stretch.escaped;
    Result<void> outcome;
    cutter().cut(
        escaped, {.control = false, .user_defined = true, .content_mask = stretch.mask},
        [&](size_t begin, size_t end) {
            if (outcome.ok())
                outcome = append_plain(escaped.substr(begin, end - begin), stretch, ids);
        },
        [&](TokenId id, size_t, size_t) { ids.push_back(id); });
    return outcome;
}

Result<void> SentencePieceTokenizer::append_plain(std::string_view escaped, Stretch& stretch,
                                                  std::vector<TokenId>& ids) const {
    if (!is_valid_utf8(escaped)) {
        stretch.valid = to_valid_utf8(escaped);
        escaped = stretch.valid;
    }
    while (escaped.size() > kChunkBytes) {
        if (stretch.stop.stop_requested()) return {};
        const size_t cut = pieces_.word_cuts.find(escaped, kChunkBytes);
        if (cut == std::string_view::npos) break;
        HOKKU_CHECK(append_chunk(escaped.substr(0, cut), stretch, ids));
        escaped.remove_prefix(cut);
    }
    return append_chunk(escaped, stretch, ids);
}

Result<std::shared_ptr<const SentencePieceTokenizer::Library>> SentencePieceTokenizer::load_library(
    std::vector<TokenId> chosen) const {
    const auto refuse = [this](const std::string& cause) {
        return Error{ErrorCode::bad_format,
                     "the SentencePiece library refuses the vocabulary: " + cause, where_, ""};
    };
    auto library = std::make_shared<Library>();
    library->tokens = std::move(chosen);
    try {
        if (!is_hashed_evenly(library->tokens, vocabulary()))
            return Error{ErrorCode::bad_format, "tokens are made to slow the program down", where_,
                         "texts of unlike hash values"};
        const auto status = library->processor.LoadFromSerializedProto(
            write_sentencepiece_proto(library->tokens, pieces_, vocabulary()));
        if (!status.ok()) return refuse(status.ToString());
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::out_of_memory, "no memory for the tokenizer", where_, ""};
    } catch (const std::exception& failure) {
        return refuse(failure.what());
    }
    return std::shared_ptr<const Library>(std::move(library));
}

Result<std::shared_ptr<const SentencePieceTokenizer::Library>> SentencePieceTokenizer::library_for(
    std::string_view escaped) const {
    {
        const std::lock_guard lock(mutex_);
        if (library_) return library_;
        num_sought_bytes_ += kCallBytes + escaped.size();
        if (num_sought_bytes_ > kSoughtBytes || pieces_.longest_name > kSoughtNameBytes) {
            HOKKU_TRY(library_, load_library(all_pieces(pieces_)));
            return library_;
        }
    }
    return load_library(pieces_within(escaped, pieces_, vocabulary()));
}

Result<void> SentencePieceTokenizer::append_chunk(std::string_view escaped, Stretch& stretch,
                                                  std::vector<TokenId>& ids) const {
    HOKKU_TRY(const auto library, library_for(escaped));
    const auto status = library->processor.Encode(escaped, &stretch.ids);
    if (!status.ok())
        return Error{ErrorCode::limit_exceeded,
                     "the SentencePiece library fails on the text: " + status.ToString(), "", ""};
    for (const int piece : stretch.ids) {
        if (static_cast<size_t>(piece) < library->tokens.size()) {
            ids.push_back(library->tokens[static_cast<size_t>(piece)]);
        } else if (special().unknown) {
            ids.push_back(*special().unknown);
        }
    }
    return {};
}

}  // namespace hokku
