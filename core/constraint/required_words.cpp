// SPDX-License-Identifier: Apache-2.0
#include "constraint/required_words.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "constraint/match/token_trie.h"

namespace hokku::constraint {

namespace {

bool is_word_char(char32_t c) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            return false;
    }
}

/// Letters of scripts whose words are not set apart. Source: Unicode 15, Blocks.txt.
bool is_unspaced(char32_t c) {
    struct Block {
        char32_t first, last;
    };
    constexpr Block kBlocks[] = {
        {0x0E00, 0x0EFF},    // Thai, Lao
        {0x1000, 0x109F},    // Myanmar
        {0x1780, 0x17FF},    // Khmer
        {0x3040, 0x30FF},    // Hiragana, Katakana
        {0x3400, 0x9FFF},    // Han
        {0xF900, 0xFAFF},    // Han
        {0x20000, 0x3FFFF},  // Han
    };
    return std::any_of(std::begin(kBlocks), std::end(kBlocks),
                       [c](const Block& block) { return c >= block.first && c <= block.last; });
}

/// Whether two characters side by side belong to the same word.
bool joins(char32_t a, char32_t b) {
    return is_word_char(a) && is_word_char(b) && !is_unspaced(a) && !is_unspaced(b);
}

/// The character that ends before `pos`. Needs pos > 0.
Utf8Char char_before(std::string_view text, size_t pos) {
    size_t begin = pos - 1;
    while (begin > 0 && pos - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0u) == 0x80u)
        --begin;
    return decode_utf8(text.substr(0, pos), begin);
}

/// Whether a character that joins with no letter may be among these bytes.
bool has_separator(const std::bitset<256>& bytes) {
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
        const bool is_ascii = byte < 0x80;
        if (bytes.test(byte) && (!is_ascii || !is_word_char(static_cast<char32_t>(byte))))
            return true;
    }
    return false;
}

}  // namespace

char32_t RequiredWords::fold(char32_t c) const {
    if (!ignore_case_) return c;
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

Result<std::unique_ptr<Constraint>> RequiredWords::create(
    const std::vector<std::string>& words, bool ignore_case,
    std::shared_ptr<const ConstraintVocabulary> vocabulary) {
    if (words.empty())
        return Error{ErrorCode::bad_argument, "no required words", "", "at least one"};
    if (words.size() > kMaxWords)
        return Error{ErrorCode::limit_exceeded, fmt::format("{} required words", words.size()), "",
                     fmt::format("at most {}", kMaxWords)};
    std::unique_ptr<RequiredWords> made(new RequiredWords(std::move(vocabulary)));
    made->ignore_case_ = ignore_case;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& text = words[i];
        const std::string where = fmt::format("word {}", i + 1);
        if (text.empty() || !is_valid_utf8(text))
            return Error{ErrorCode::bad_argument, "a required word is empty or not valid UTF-8",
                         where, "text"};
        if (text.size() > kMaxWordBytes)
            return Error{ErrorCode::limit_exceeded,
                         fmt::format("a required word of {} bytes", text.size()), where,
                         fmt::format("at most {}", kMaxWordBytes)};
        Word word;
        word.text = text;
        for (size_t pos = 0; pos < text.size();) {
            const Utf8Char c = decode_utf8(text, pos);
            word.chars.push_back(made->fold(c.code_point));
            pos += c.num_bytes;
        }
        // Another case may be longer in UTF-8.
        word.num_bytes = 4 * word.chars.size();
        made->words_.push_back(std::move(word));
    }
    return std::unique_ptr<Constraint>(std::move(made));
}

RequiredWords::Occurrence RequiredWords::occurs_at(const Word& word, size_t pos) const {
    const std::string_view text = text_;
    size_t end = pos;
    char32_t first = 0, last = 0;
    for (const char32_t expected : word.chars) {
        if (end == text.size()) return Occurrence::no;
        const Utf8Char c = decode_utf8(text, end);
        if (!c.valid || fold(c.code_point) != expected) return Occurrence::no;
        if (end == pos) first = c.code_point;
        last = c.code_point;
        end += c.num_bytes;
    }
    if (pos > 0) {
        const Utf8Char before = char_before(text, pos);
        if (before.valid && joins(before.code_point, first)) return Occurrence::no;
    }
    if (end == text.size()) return Occurrence::if_it_ends_here;
    const Utf8Char after = decode_utf8(text, end);
    // The rest of a character may be still to come.
    if (!after.valid && end + after.num_bytes == text.size()) return Occurrence::no;
    return after.valid && joins(last, after.code_point) ? Occurrence::no : Occurrence::yes;
}

RequiredWords::Occurrence RequiredWords::occurs_since(const Word& word, size_t pos) const {
    auto best = Occurrence::no;
    for (; pos < text_.size() && best != Occurrence::yes; ++pos)
        best = std::max(best, occurs_at(word, pos));
    return best;
}

Result<void> RequiredWords::allowed_tokens(TokenMask& mask) {
    if (has_ended_)
        return Error{ErrorCode::bad_argument, "the generation has ended", "",
                     "no more tokens, or a rollback"};
    mask.clear();
    const auto text_tokens = vocabulary_->trie().text_tokens().words();
    std::copy(text_tokens.begin(), text_tokens.end(), mask.words().begin());
    if (is_complete())
        for (const TokenId id : vocabulary_->trie().end_tokens()) mask.set(static_cast<size_t>(id));
    return {};
}

Result<void> RequiredWords::accept(TokenId token) {
    const bool is_known = token >= 0 && static_cast<size_t>(token) < vocabulary_->num_tokens();
    const bool is_end = is_known && vocabulary_->ends_generation(token);
    const std::string_view bytes = is_known ? vocabulary_->trie().bytes(token) : "";
    if (has_ended_ || (is_end ? !is_complete() : bytes.empty()))
        return Error{ErrorCode::bad_argument, fmt::format("token {} is not allowed here", token),
                     fmt::format("after {} tokens", num_accepted()), "one of the allowed tokens"};
    const size_t old_size = text_.size();
    text_ += bytes;
    lengths_.push_back(text_.size());
    has_ended_ = is_end;
    for (Word& word : words_) {
        if (word.found_at != kNotFound) continue;
        // Behind the word, the last character before may have been incomplete.
        const size_t back = std::min(old_size, word.num_bytes + 4);
        if (occurs_since(word, old_size - back) == Occurrence::yes) word.found_at = text_.size();
    }
    return {};
}

void RequiredWords::rollback(size_t num_tokens) {
    if (num_tokens == 0) return;
    lengths_.resize(lengths_.size() - std::min(num_tokens, num_accepted()));
    text_.resize(lengths_.back());
    has_ended_ = false;
    for (Word& word : words_)
        if (word.found_at > text_.size()) word.found_at = kNotFound;
}

bool RequiredWords::is_complete() const {
    if (has_ended_) return false;
    if (!text_.empty() && !char_before(text_, text_.size()).valid) return false;
    return std::all_of(words_.begin(), words_.end(),
                       [this](const Word& word) { return has_occurred(word); });
}

bool RequiredWords::has_occurred(const Word& word) const {
    if (word.found_at != kNotFound) return true;
    const size_t back = std::min(text_.size(), word.num_bytes);
    return occurs_since(word, text_.size() - back) != Occurrence::no;
}

Result<bool> RequiredWords::matches(std::string_view text) {
    RequiredWords other(*this);
    other.rollback(num_accepted());
    other.text_ = text;
    for (Word& word : other.words_) {
        // As if all of it had come at once.
        if (other.occurs_since(word, 0) != Occurrence::no) word.found_at = text.size();
    }
    return other.is_complete();
}

/// Its beginning may be there already. Where it begins, no letter may stand directly before.
bool RequiredWords::may_follow(const Word& word, const std::bitset<256>& bytes) const {
    const auto is_there = [&](char byte) {
        const auto number = static_cast<uint8_t>(byte);
        return bytes.test(number) || (ignore_case_ && std::isalpha(number) != 0 &&
                                      bytes.test(static_cast<size_t>(number ^ 0x20)));
    };
    const auto is_same = [&](char a, char b) {
        return a == b || (ignore_case_ && std::isalpha(static_cast<uint8_t>(a)) != 0 &&
                          (static_cast<uint8_t>(a) ^ 0x20) == static_cast<uint8_t>(b));
    };
    const std::string_view all = word.text, text = text_;
    const char32_t first = decode_utf8(all, 0).code_point;
    const auto is_joined = [&](size_t pos) {
        const Utf8Char before = pos > 0 ? char_before(text, pos) : Utf8Char{};
        return before.valid && joins(before.code_point, first);
    };
    const bool may_part = has_separator(bytes);
    for (size_t begun = std::min(all.size(), text.size());; --begun) {
        const std::string_view rest = all.substr(begun), end = text.substr(text.size() - begun);
        const bool is_apart = !is_joined(text.size() - begun) || (begun == 0 && may_part);
        if (is_apart && std::equal(end.begin(), end.end(), all.begin(), is_same) &&
            std::all_of(rest.begin(), rest.end(), is_there))
            return true;
        if (begun == 0) return false;
    }
}

bool RequiredWords::may_be_met_by(const std::bitset<256>& bytes) const {
    // Letters that are not ASCII have other bytes in another case.
    const auto is_plain = [this](const Word& word) {
        return !ignore_case_ || std::all_of(word.text.begin(), word.text.end(),
                                            [](char c) { return static_cast<uint8_t>(c) < 0x80; });
    };
    return std::all_of(words_.begin(), words_.end(), [&](const Word& word) {
        return has_occurred(word) || !is_plain(word) || may_follow(word, bytes);
    });
}

std::string RequiredWords::missing_text() const {
    std::string missing;
    for (const Word& word : words_) {
        if (has_occurred(word)) continue;
        const std::string& before = missing.empty() ? text_ : missing;
        if (!before.empty()) {
            const Utf8Char last = char_before(before, before.size());
            const char32_t first = decode_utf8(word.text, 0).code_point;
            const bool is_apart = last.code_point == ' ' || last.code_point == '\n' ||
                                  is_unspaced(last.code_point) || is_unspaced(first);
            if (!is_apart) missing += ' ';
        }
        missing += word.text;
    }
    return missing;
}

}  // namespace hokku::constraint
