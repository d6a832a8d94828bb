// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/tokenizer_factory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/try.h"
#include "base/utf8.h"
#include "text/tokenizer/bpe_tokenizer.h"
#include "text/tokenizer/character_bpe_tokenizer.h"
#include "text/tokenizer/sentencepiece_tokenizer.h"

namespace hokku {
namespace {

constexpr std::string_view kPreKey = "tokenizer.ggml.pre";

std::string place(const GgufMetadata& metadata, std::string_view key) {
    return fmt::format("{}, key {}", metadata.file_name(), key);
}

// The tags in every chat template of the file. Real templates have 30 KB at most; where they are
// too long to be looked through, no tag is taken for harmless.
HtmlTags read_template_tags(const GgufMetadata& metadata) {
    constexpr std::string_view kPrefix = "tokenizer.chat_template";
    constexpr size_t kMaxBytes = size_t{1} << 20;
    HtmlTags tags;
    size_t num_bytes = 0;
    for (const GgufEntry& entry : metadata.entries()) {
        if (entry.key.substr(0, kPrefix.size()) != kPrefix) continue;
        const auto* text = std::get_if<std::string_view>(&entry.value);
        if (text == nullptr) continue;
        num_bytes += text->size();
        if (num_bytes > kMaxBytes) {
            tags.add_all();
            break;
        }
        tags.add(*text);
    }
    return tags;
}

SpecialCutter make_cutter(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                          bool escapes_spaces) {
    const HtmlTags template_tags = read_template_tags(metadata);
    const auto table = vocabulary.find_special("<table>");
    const bool has_html = table && vocabulary.kind(*table) == TokenKind::user_defined;
    SpecialCutter cutter;
    std::string escaped;
    for (size_t index = 0; index < vocabulary.size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        const std::string_view text = vocabulary.text(id);
        if (is_hidden_kind(vocabulary.kind(id))) {
            cutter.add(text, id, SpecialClass::control);
        } else if (vocabulary.kind(id) == TokenKind::user_defined) {
            const SpecialClass special_class = class_of_user_defined(text, template_tags, has_html);
            escaped.clear();
            if (escapes_spaces) append_escaped(text, escaped);
            cutter.add(escapes_spaces ? escaped : text, id, special_class);
        }
    }
    cutter.prepare();
    return cutter;
}

/// Pre-tokenizer names that mean merges over plain UTF-8 instead of patterns over bytes.
struct CharacterBpeName {
    std::string_view name;
    bool add_bos = false, has_reference = false;
};
/// Source : llama.cpp's list of names (src/llama-vocab.cpp).
constexpr std::array kCharacterBpeNames = {
    CharacterBpeName{"gemma4", true, true},
    CharacterBpeName{"granite-embed-multi-311m", true},
    CharacterBpeName{"sarvam-moe"},
};

const CharacterBpeName* find_character_bpe_name(std::string_view name) {
    const auto* found = std::find_if(kCharacterBpeNames.begin(), kCharacterBpeNames.end(),
                                     [name](const auto& known) { return known.name == name; });
    return found == kCharacterBpeNames.end() ? nullptr : found;
}

Result<std::shared_ptr<const Tokenizer>> make_bpe(const GgufMetadata& metadata) {
    HOKKU_TRY(const auto pre, metadata.find_string(kPreKey));
    TokenizerParts parts;
    parts.pre_tokenizer = std::string(pre.value_or("default"));
    const PreTokenizerName* name = pre ? find_pre_tokenizer_name(*pre) : nullptr;
    if (!pre)
        parts.warning =
            "the file names no pre-tokenizer; \"default\" is used, and some words may be split "
            "otherwise than the model was trained with";
    else if (name == nullptr)
        parts.warning = fmt::format(
            "the pre-tokenizer \"{}\" is not known; \"default\" is used, and words may be split "
            "otherwise than the model was trained with",
            to_printable(*pre));
    if (name == nullptr) name = find_pre_tokenizer_name("default");
    HOKKU_TRY(parts.vocabulary, Vocabulary::read(metadata, false));
    HOKKU_TRY(parts.special,
              read_special_tokens(metadata, parts.vocabulary, {.add_bos = name->add_bos}));
    parts.cutter = make_cutter(metadata, parts.vocabulary, false);
    HOKKU_TRY(auto model, BpeModel::read(metadata, parts.vocabulary,
                                         {.alphabet = BpeAlphabet::bytes,
                                          .ignore_merges = name->ignore_merges}));
    HOKKU_TRY(auto patterns, PreTokenizer::create(*find_pre_tokenizer_family(name->family)));
    // In a GPT-2 file the name only chooses the patterns: GPT-2's tokenizer has no normaliser.
    HOKKU_TRY(const auto architecture, metadata.find_string("general.architecture"));
    const bool nfc = name->nfc && architecture != "gpt2";
    return std::shared_ptr<const Tokenizer>(std::make_shared<BpeTokenizer>(
        std::move(parts), std::move(model), std::move(patterns), nfc));
}

// Gemma 4 and its kin: merges over plain UTF-8.
Result<std::shared_ptr<const Tokenizer>> make_character_bpe(const GgufMetadata& metadata,
                                                            const CharacterBpeName& name) {
    TokenizerParts parts;
    parts.pre_tokenizer = std::string(name.name);
    if (!name.has_reference)
        parts.warning = fmt::format(
            "the pre-tokenizer \"{}\" could not be compared with a reference; words may be split "
            "otherwise than the model was trained with",
            name.name);
    HOKKU_TRY(parts.vocabulary, Vocabulary::read(metadata, true));
    HOKKU_CHECK(has_byte_tokens(parts.vocabulary, place(metadata, "tokenizer.ggml.tokens")));
    HOKKU_TRY(parts.special,
              read_special_tokens(metadata, parts.vocabulary, {.add_bos = name.add_bos}));
    parts.cutter = make_cutter(metadata, parts.vocabulary, false);
    HOKKU_TRY(auto model,
              BpeModel::read(metadata, parts.vocabulary, {.alphabet = BpeAlphabet::characters}));
    return std::shared_ptr<const Tokenizer>(
        std::make_shared<CharacterBpeTokenizer>(std::move(parts), std::move(model)));
}

Result<std::vector<float>> read_scores(const GgufMetadata& metadata, size_t num_tokens) {
    constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
    const auto error = [&](std::string what, std::string expected) {
        return Error{ErrorCode::bad_format, std::move(what), place(metadata, kScoresKey),
                     std::move(expected)};
    };
    HOKKU_TRY(auto scores, metadata.find_floats(kScoresKey));
    if (!scores) return error("the vocabulary has no scores", "a score for each token");
    if (scores->size() != num_tokens)
        return error(fmt::format("{} entries", scores->size()),
                     fmt::format("{}, one for each token", num_tokens));
    const auto nan =
        std::find_if(scores->begin(), scores->end(), [](float score) { return std::isnan(score); });
    if (nan != scores->end())
        return error(fmt::format("the score of token {} is not a number", nan - scores->begin()),
                     "a number");
    return std::move(*scores);
}

// Phi-3's published tokenizer drops the whitespace behind its turn tokens; the file does not say.
SentencePieceOptions phi3_options(const Vocabulary& vocabulary) {
    SentencePieceOptions options{.strips_after_control = true};
    for (const std::string_view text : {"<unk>", "<s>", "<|endoftext|>"})
        if (const auto id = vocabulary.find_special(text)) options.keeps_space_after.push_back(*id);
    return options;
}

Result<std::shared_ptr<const Tokenizer>> make_sentencepiece(const GgufMetadata& metadata) {
    TokenizerParts parts;
    HOKKU_TRY(const auto pre, metadata.find_string("tokenizer.ggml.pre"));
    parts.pre_tokenizer = std::string(pre.value_or("default"));
    HOKKU_TRY(parts.vocabulary, Vocabulary::read(metadata, true));
    HOKKU_TRY(auto scores, read_scores(metadata, parts.vocabulary.size()));
    // The ids that SentencePiece gives these by default, where such a token stands there.
    const auto control_at = [&parts](TokenId id) -> std::optional<TokenId> {
        const bool is_there =
            parts.vocabulary.contains(id) && is_hidden_kind(parts.vocabulary.kind(id));
        return is_there ? std::optional<TokenId>{id} : std::nullopt;
    };
    HOKKU_TRY(parts.special, read_special_tokens(metadata, parts.vocabulary,
                                                 {.bos = control_at(1),
                                                  .eos = control_at(2),
                                                  .unknown = control_at(0),
                                                  .add_bos = true}));
    HOKKU_TRY(const auto architecture, metadata.find_string("general.architecture"));
    SentencePieceOptions options;
    if (architecture == "phi3") options = phi3_options(parts.vocabulary);
    HOKKU_TRY(const auto prefix, metadata.find_bool("tokenizer.ggml.add_space_prefix"));
    options.add_space_prefix = prefix.value_or(true);
    parts.cutter = make_cutter(metadata, parts.vocabulary, true);
    const std::string where = place(metadata, "tokenizer.ggml.tokens");
    // A file may name a token as unknown that is text or a byte: then it stays that.
    std::optional<TokenId> unknown = parts.special.unknown;
    if (unknown && !is_hidden_kind(parts.vocabulary.kind(*unknown))) unknown = std::nullopt;
    HOKKU_TRY(auto pieces,
              read_sentencepieces(parts.vocabulary, std::move(scores), unknown, where));
    HOKKU_TRY(auto tokenizer, SentencePieceTokenizer::create(std::move(parts), std::move(pieces),
                                                             std::move(options), where));
    return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_tokenizer(const GgufMetadata& metadata) {
    constexpr std::string_view kModelKey = "tokenizer.ggml.model";
    HOKKU_TRY(const std::string_view model, metadata.require_string(kModelKey));
    if (model == "llama") return make_sentencepiece(metadata);
    HOKKU_TRY(const auto pre, metadata.find_string(kPreKey));
    const CharacterBpeName* character_bpe = find_character_bpe_name(pre.value_or(""));
    if (model == "gemma4" && character_bpe == nullptr) character_bpe = &kCharacterBpeNames.front();
    if (model == "gpt2" || model == "gemma4") {
        if (pre == "mmbert" || pre == "whitespace")
            return Error{
                ErrorCode::unsupported,
                fmt::format("the pre-tokenizer \"{}\", of embedding models, is not supported",
                            *pre),
                place(metadata, kPreKey), "a model that writes text"};
        return character_bpe != nullptr ? make_character_bpe(metadata, *character_bpe)
                                        : make_bpe(metadata);
    }
    return Error{
        ErrorCode::unsupported,
        fmt::format("vocabularies of the kind \"{}\" are not supported", to_printable(model)),
        place(metadata, kModelKey),
        "\"gpt2\" (byte-level BPE), \"llama\" (SentencePiece BPE) or \"gemma4\""};
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& path) {
    HOKKU_TRY(const auto file, GgufFile::open(path));
    return make_tokenizer(file.metadata());
}

}  // namespace hokku
