// SPDX-License-Identifier: Apache-2.0
// SpecialCutter: finds the special tokens of a vocabulary in raw text, leftmost and longest, and
// decides which of them text of a given origin may become.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku {

/// How far a special token may be recognised in text.
enum class SpecialClass : uint8_t {
    control,     ///< Only where special text is parsed, and there only in template text.
    marker,      ///< User-defined and bracketed: anywhere but in content.
    plain,       ///< User-defined: anywhere, but not across a border of content.
    whitespace,  ///< User-defined runs of spaces, tabs, newlines: anywhere.
};

/// HTML tags that the chat templates of a file write themselves.
///
/// Cost : add: linear in the text, as a tag has a dozen bytes at most.
class HtmlTags {
  public:
    void add(std::string_view template_source);
    /// From now on every tag counts as written by a template.
    void add_all() { has_all_ = true; }
    [[nodiscard]] bool contains(std::string_view tag) const;

  private:
    std::vector<std::string_view> tags_;  ///< Of the texts given; each once.
    bool has_all_ = false;
};

/// The class of a user-defined token. Bracketed text (<tool_call>, [INST], <|USER|>) is a marker:
/// as a token in content it could forge a turn, an image or a tool call. HTML tags are not, where
/// the vocabulary has tags at all (`has_html`), unless the chat template writes them itself.
SpecialClass class_of_user_defined(std::string_view text, const HtmlTags& template_tags,
                                   bool has_html);

/// A stretch of text between special tokens, or one special token.
struct CutSegment {
    size_t begin = 0, end = 0;  ///< Bytes of the text.
    TokenId token = -1;         ///< -1: plain text.
};

struct CutOptions {
    bool control = false;       ///< Look for control tokens.
    bool user_defined = false;  ///< Look for user-defined tokens.
    /// One byte for each byte of the text, 1 where it is content; empty: no content anywhere.
    std::string_view content_mask;
};

/// Threads: cut() is safe from any thread once all is added and prepared.
class SpecialCutter {
  public:
    /// Longer texts are not recognised: a bound for the time that a hostile file can cost.
    static constexpr size_t kMaxTextBytes = 512;

    void add(std::string_view text, TokenId id, SpecialClass special_class);
    void prepare();

    /// Next special token at or after `from`; token -1 and begin == end == text.size() when there
    /// is none.
    ///
    /// Cost : linear in the distance, times the longest common prefix of the tokens.
    [[nodiscard]] CutSegment find_next(std::string_view text, size_t from,
                                       const CutOptions& options) const;

    /// Calls `on_text(begin, end)` and `on_token(id, begin, end)` in the order of the text.
    template <class OnText, class OnToken>
    void cut(std::string_view text, const CutOptions& options, OnText&& on_text,
             OnToken&& on_token) const {
        size_t from = 0;
        while (from < text.size()) {
            const CutSegment next = find_next(text, from, options);
            if (next.begin > from) on_text(from, next.begin);
            if (next.token >= 0) on_token(next.token, next.begin, next.end);
            from = next.end;
        }
    }

  private:
    struct Entry {
        std::string text;
        TokenId id = -1;
        SpecialClass special_class = SpecialClass::control;
    };
    [[nodiscard]] CutSegment match_at(std::string_view text, size_t begin,
                                      const CutOptions& options) const;
    static bool may_match(const Entry& entry, size_t begin, const CutOptions& options);

    std::vector<Entry> entries_;              // sorted by text once prepared
    std::array<uint32_t, 257> first_byte_{};  // entries of byte b: [first_byte_[b], [b + 1])
    bool has_control_ = false, has_user_defined_ = false;
};

}  // namespace hokku
