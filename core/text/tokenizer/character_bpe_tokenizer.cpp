// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/character_bpe_tokenizer.h"

#include <utility>

namespace hokku {

CharacterBpeTokenizer::CharacterBpeTokenizer(TokenizerParts parts, BpeModel model)
    : VocabularyTokenizer(std::move(parts)), model_(std::move(model)) {
    for (size_t index = 0; index < vocabulary().size(); ++index) {
        const auto id = static_cast<TokenId>(index);
        if (vocabulary().kind(id) == TokenKind::normal) word_cuts_.add_token(vocabulary().text(id));
    }
}

std::optional<TokenId> CharacterBpeTokenizer::find_token(std::string_view text) const {
    if (const auto id = vocabulary().find_special(text)) return id;
    return model_.find(text);
}

void CharacterBpeTokenizer::append_text_bytes(TokenId id, std::string& out) const {
    append_unescaped(model_.bytes_of(id), out);
}

Result<void> CharacterBpeTokenizer::append_ids(std::string_view text, std::string_view content_mask,
                                               const EncodeOptions& options,
                                               std::vector<TokenId>& ids) const {
    BpeModel::Scratch scratch;
    scratch.stop = options.stop;
    std::string escaped;
    cutter().cut(
        text,
        {.control = options.parse_special, .user_defined = true, .content_mask = content_mask},
        [&](size_t begin, size_t end) {
            escaped.clear();
            append_escaped(text.substr(begin, end - begin), escaped);
            append_stretch(escaped, scratch, ids);
        },
        [&](TokenId id, size_t, size_t) { ids.push_back(id); });
    return {};
}

// Word by word where no merge can cross the border, which spares long queues.
void CharacterBpeTokenizer::append_stretch(std::string_view escaped, BpeModel::Scratch& scratch,
                                           std::vector<TokenId>& ids) const {
    while (!escaped.empty() && !scratch.stop.stop_requested()) {
        const std::string_view word = escaped.substr(0, word_cuts_.find(escaped, 1));
        model_.append_ids(word, scratch, ids);
        escaped.remove_prefix(word.size());
    }
}

}  // namespace hokku
