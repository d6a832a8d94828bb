// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <variant>

#include "base/try.h"

namespace hokku {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kKindsKey = "tokenizer.ggml.token_type";

Error bad_vocabulary(const GgufMetadata& metadata, std::string_view key, std::string what,
                     std::string expected) {
    return Error{ErrorCode::bad_format, std::move(what),
                 fmt::format("{}, key {}", metadata.file_name(), key), std::move(expected)};
}

// Ids as in the GGUF specification, tokenizer.ggml.token_type; 0 is "undefined".
TokenKind kind_of_id(int64_t id) {
    switch (id) {
        case 2:
            return TokenKind::unknown;
        case 3:
            return TokenKind::control;
        case 4:
            return TokenKind::user_defined;
        case 5:
            return TokenKind::unused;
        case 6:
            return TokenKind::byte;
        default:
            return TokenKind::normal;
    }
}

Result<StringBlock> copy_texts(const GgufMetadata& metadata, const GgufStringArray& tokens) {
    if (tokens.size() > kMaxVocabulary)
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("a vocabulary of {} tokens is not supported", tokens.size()),
                     fmt::format("{}, key {}", metadata.file_name(), kTokensKey),
                     fmt::format("at most {}", kMaxVocabulary)};
    size_t num_bytes = 0;
    for (size_t index = 0; index < tokens.size(); ++index) {
        if (tokens[index].size() > kMaxTokenTextBytes)
            return bad_vocabulary(
                metadata, kTokensKey,
                fmt::format("the text of token {} has {} bytes", index, tokens[index].size()),
                fmt::format("at most {}", kMaxTokenTextBytes));
        num_bytes += tokens[index].size();
    }
    if (num_bytes > std::numeric_limits<uint32_t>::max() / 2)
        return bad_vocabulary(
            metadata, kTokensKey,
            fmt::format("{} tokens with {} bytes are too many", tokens.size(), num_bytes),
            "less than 2 GiB of text");
    StringBlock texts;
    texts.reserve(tokens.size(), num_bytes);
    for (const std::string_view token : tokens) texts.append(token);
    return texts;
}

Result<std::vector<TokenKind>> read_kinds(const GgufMetadata& metadata, const StringBlock& texts,
                                          bool bytes_by_text) {
    HOKKU_TRY(const auto ids, metadata.find_ints(kKindsKey, 0, 6));
    std::vector<TokenKind> kinds(texts.size(), TokenKind::normal);
    if (!ids) {
        for (size_t index = 0; bytes_by_text && index < kinds.size(); ++index)
            if (parse_byte_text(texts[index])) kinds[index] = TokenKind::byte;
        return kinds;
    }
    if (ids->size() != texts.size())
        return bad_vocabulary(metadata, kKindsKey, fmt::format("{} entries", ids->size()),
                              fmt::format("{}, one for each token", texts.size()));
    std::transform(ids->begin(), ids->end(), kinds.begin(), kind_of_id);
    return kinds;
}

Result<std::optional<TokenId>> read_id(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                                       std::string_view key,
                                       std::optional<TokenId> default_id = std::nullopt) {
    const GgufEntry* entry = metadata.find(key);
    if (entry == nullptr) {
        const bool usable = default_id && vocabulary.contains(*default_id);
        return usable ? default_id : std::optional<TokenId>{};
    }
    uint64_t id = 0;
    if (const auto* number = std::get_if<uint64_t>(&entry->value)) {
        id = *number;
    } else if (const auto* signed_number = std::get_if<int64_t>(&entry->value)) {
        id = *signed_number < 0 ? std::numeric_limits<uint64_t>::max()
                                : static_cast<uint64_t>(*signed_number);
    } else {
        return bad_vocabulary(metadata, key, "the value is not an integer", "a token id");
    }
    // Files write -1, or 2^32 - 1, for "none".
    if (id >= vocabulary.size()) return std::optional<TokenId>{};
    return std::optional<TokenId>{static_cast<TokenId>(id)};
}

// Texts of tokens that end a turn or a document, as the families publish them.
constexpr std::array<std::string_view, 26> kEndTexts = {
    "<|endoftext|>",          // GPT-2, Qwen, SmolLM, Phi
    "<|im_end|>",             // ChatML
    "<|eot_id|>",             // Llama 3
    "<|eom_id|>",             // Llama 3, before a tool runs
    "<|eot|>",                // Llama 4
    "<|eom|>",                // Llama 4
    "<|end_of_text|>",        // Llama 3, Granite
    "<end_of_turn>",          // Gemma 1 to 3
    "<turn|>",                // Gemma 4
    "<eos>",                  // Gemma
    "</s>",                   // Llama 1 and 2, Mistral
    "<|end|>",                // Phi 3
    "<|return|>",             // gpt-oss
    "<|call|>",               // gpt-oss
    "<EOT>",                  // StarCoder chats
    "<EOS_TOKEN>",            // Command-R
    "<|END_OF_TURN_TOKEN|>",  // Command-R
    "<end_of_utterance>",     // Idefics, SmolVLM
    "<|end_of_turn|>",        // OpenChat, Kimi
    "<|endofturn|>",          // HyperCLOVA
    "<|end_of_sentence|>",    // Deepseek spellings
    "<｜end▁of▁sentence｜>",  // DeepSeek
    "<|end▁of▁sentence|>",    // ERNIE
    "<|eos|>",                // Hunyuan
    "[|endofturn|]",          // EXAONE
    "<|user|>",               // GLM 4: the next turn's header ends this one
};

void add_end_tokens(const Vocabulary& vocabulary, SpecialTokens& special) {
    std::vector<TokenId>& ends = special.end_of_generation;
    for (const auto& id : {special.eos, special.eot, special.eom})
        if (id) ends.push_back(*id);
    const auto find_control = [&vocabulary](std::string_view text) -> std::optional<TokenId> {
        const auto id = vocabulary.find_special(text);
        return id && vocabulary.kind(*id) == TokenKind::control ? id : std::nullopt;
    };
    // In gpt-oss's format <|end|> closes a message, after which the same turn goes on.
    const bool is_harmony = find_control("<|return|>") && find_control("<|call|>");
    const bool is_glm = find_control("[gMASK]") && find_control("<|observation|>");
    for (const std::string_view text : kEndTexts) {
        if (text == "<|end|>" && is_harmony) continue;
        if (text == "<|user|>" && !is_glm) continue;
        if (const auto id = find_control(text)) ends.push_back(*id);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

}  // namespace

void StringBlock::reserve(size_t num_strings, size_t num_bytes) {
    ends_.reserve(num_strings);
    bytes_.reserve(num_bytes);
}

void StringBlock::append(std::string_view text) {
    bytes_.append(text);
    end_string();
}

std::optional<uint8_t> parse_byte_text(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text.back() != '>') return std::nullopt;
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
    if (error != std::errc{} || end != text.data() + 5) return std::nullopt;
    return byte;
}

Result<bool> has_byte_tokens(const Vocabulary& vocabulary, std::string_view where) {
    const auto error = [where](std::string what) {
        return Error{ErrorCode::bad_format, std::move(what), std::string(where),
                     "<0x00> to <0xFF>, each once, or no byte tokens at all"};
    };
    std::array<bool, 256> seen{};
    size_t num_bytes = 0;
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        if (vocabulary.kind(id) != TokenKind::byte) continue;
        const auto byte = parse_byte_text(vocabulary.text(id));
        if (!byte) return error(fmt::format("token {} is a byte, but its text is not", id));
        if (seen[*byte])
            return error(fmt::format("token {} is a second {}", id, vocabulary.text(id)));
        seen[*byte] = true;
        ++num_bytes;
    }
    if (num_bytes != 0 && num_bytes != seen.size())
        return error(fmt::format("there are {} byte tokens", num_bytes));
    return num_bytes != 0;
}

Result<Vocabulary> Vocabulary::read(const GgufMetadata& metadata, bool bytes_by_text) {
    HOKKU_TRY(const GgufStringArray* const tokens, metadata.find_strings(kTokensKey));
    if (tokens == nullptr || tokens->empty())
        return bad_vocabulary(metadata, kTokensKey, "the file holds no tokens",
                              "at least one token");
    Vocabulary vocabulary;
    HOKKU_TRY(vocabulary.texts_, copy_texts(metadata, *tokens));
    HOKKU_TRY(vocabulary.kinds_, read_kinds(metadata, vocabulary.texts_, bytes_by_text));
    const auto is_special = [](TokenKind kind) { return kind != TokenKind::normal; };
    const auto num_specials =
        std::count_if(vocabulary.kinds_.begin(), vocabulary.kinds_.end(), is_special);
    vocabulary.specials_ = TokenTable(static_cast<size_t>(num_specials), random_seed());
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        if (!is_special(vocabulary.kinds_[index])) continue;
        const auto length = static_cast<uint32_t>(vocabulary.texts_[index].size());
        vocabulary.specials_.insert(vocabulary.texts_.bytes(), vocabulary.texts_.offset(index),
                                    length, static_cast<TokenId>(index));
    }
    return vocabulary;
}

Result<SpecialTokens> read_special_tokens(const GgufMetadata& metadata,
                                          const Vocabulary& vocabulary,
                                          const SpecialDefaults& defaults) {
    const auto id_of = [&](std::string_view key, std::optional<TokenId> default_id = {}) {
        return read_id(metadata, vocabulary, key, default_id);
    };
    SpecialTokens special;
    HOKKU_TRY(special.bos, id_of("tokenizer.ggml.bos_token_id", defaults.bos));
    HOKKU_TRY(special.eos, id_of("tokenizer.ggml.eos_token_id", defaults.eos));
    HOKKU_TRY(special.eot, id_of("tokenizer.ggml.eot_token_id"));
    HOKKU_TRY(special.eom, id_of("tokenizer.ggml.eom_token_id"));
    HOKKU_TRY(special.unknown, id_of("tokenizer.ggml.unknown_token_id", defaults.unknown));
    HOKKU_TRY(special.padding, id_of("tokenizer.ggml.padding_token_id"));
    HOKKU_TRY(const auto add_bos, metadata.find_bool("tokenizer.ggml.add_bos_token"));
    HOKKU_TRY(const auto add_eos, metadata.find_bool("tokenizer.ggml.add_eos_token"));
    special.add_bos = add_bos.value_or(defaults.add_bos);
    special.add_eos = add_eos.value_or(false);
    add_end_tokens(vocabulary, special);
    return special;
}

}  // namespace hokku
