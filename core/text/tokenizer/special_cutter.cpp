// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/special_cutter.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/space_sign.h"

namespace hokku {
namespace {

bool is_whitespace_run(std::string_view text) {
    while (!text.empty()) {
        if (text.substr(0, kSpaceSign.size()) == kSpaceSign) {
            text.remove_prefix(kSpaceSign.size());
        } else if (text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r')) {
            text.remove_prefix(1);
        } else {
            return false;
        }
    }
    return true;
}

bool is_bracketed(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kBrackets = {{
        {"<", ">"},
        {"[", "]"},
        {"{", "}"},
        {"\xE2\x97\x81", "\xE2\x96\xB7"},  // U+25C1, U+25B7: Kimi's thinking tags
    }};
    return std::any_of(kBrackets.begin(), kBrackets.end(), [text](const auto& pair) {
        return text.size() > pair.first.size() + pair.second.size() &&
               text.substr(0, pair.first.size()) == pair.first &&
               text.substr(text.size() - pair.second.size()) == pair.second;
    });
}

// Names of HTML elements that vocabularies have as tokens of their own (Gemma's list).
bool is_html_tag(std::string_view text) {
    constexpr std::array<std::string_view, 42> kNames = {
        "a",      "b",      "blockquote", "body", "br",    "caption", "code", "del",   "div",
        "em",     "h1",     "h2",         "h3",   "h4",    "h5",      "h6",   "head",  "hr",
        "html",   "i",      "img",        "li",   "ol",    "p",       "pre",  "s",     "span",
        "strike", "strong", "sub",        "sup",  "table", "tbody",   "td",   "tfoot", "th",
        "thead",  "title",  "tr",         "tt",   "u",     "ul",
    };
    if (text.size() < 3 || text.front() != '<' || text.back() != '>') return false;
    text = text.substr(1, text.size() - 2);
    if (text.front() == '/') text.remove_prefix(1);
    return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
}

unsigned char byte_at(std::string_view text, size_t index) {
    return static_cast<unsigned char>(text[index]);
}

}  // namespace

void HtmlTags::add(std::string_view template_source) {
    constexpr size_t kMaxTagBytes = 13;  // </blockquote>
    size_t at = template_source.find('<');
    for (; at != std::string_view::npos; at = template_source.find('<', at + 1)) {
        const std::string_view rest = template_source.substr(at, kMaxTagBytes);
        const std::string_view tag = rest.substr(0, rest.find('>') + 1);
        if (is_html_tag(tag) && !contains(tag)) tags_.push_back(tag);
    }
}

bool HtmlTags::contains(std::string_view tag) const {
    return has_all_ || std::find(tags_.begin(), tags_.end(), tag) != tags_.end();
}

SpecialClass class_of_user_defined(std::string_view text, const HtmlTags& template_tags,
                                   bool has_html) {
    if (is_whitespace_run(text)) return SpecialClass::whitespace;
    if (!is_bracketed(text)) return SpecialClass::plain;
    const bool is_harmless = has_html && is_html_tag(text) && !template_tags.contains(text);
    return is_harmless ? SpecialClass::plain : SpecialClass::marker;
}

void SpecialCutter::add(std::string_view text, TokenId id, SpecialClass special_class) {
    if (text.empty() || text.size() > kMaxTextBytes) return;
    entries_.push_back({std::string(text), id, special_class});
    (special_class == SpecialClass::control ? has_control_ : has_user_defined_) = true;
}

void SpecialCutter::prepare() {
    // Of equal texts the first token stays.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.text < b.text; });
    entries_.erase(std::unique(entries_.begin(), entries_.end(),
                               [](const Entry& a, const Entry& b) { return a.text == b.text; }),
                   entries_.end());
    size_t index = 0;
    for (size_t byte = 0; byte < 256; ++byte) {
        first_byte_[byte] = static_cast<uint32_t>(index);
        while (index < entries_.size() && byte_at(entries_[index].text, 0) == byte) ++index;
    }
    first_byte_[256] = static_cast<uint32_t>(index);
}

bool SpecialCutter::may_match(const Entry& entry, size_t begin, const CutOptions& options) {
    const bool is_control = entry.special_class == SpecialClass::control;
    if (!(is_control ? options.control : options.user_defined)) return false;
    if (entry.special_class == SpecialClass::whitespace || options.content_mask.empty())
        return true;
    const std::string_view mask = options.content_mask.substr(begin, entry.text.size());
    if (mask.find('\1') == std::string_view::npos) return true;
    return entry.special_class == SpecialClass::plain && mask.find('\0') == std::string_view::npos;
}

// Entries with a common prefix are neighbours: narrows [low, high) byte by byte. The entry that
// ends at a depth is the first of its range.
CutSegment SpecialCutter::match_at(std::string_view text, size_t begin,
                                   const CutOptions& options) const {
    CutSegment best{begin, begin, -1};
    const unsigned char first = byte_at(text, begin);
    size_t low = first_byte_[first];
    size_t high = first_byte_[first + 1u];
    for (size_t depth = 1; low < high; ++depth) {
        const Entry& entry = entries_[low];
        if (entry.text.size() == depth) {
            if (may_match(entry, begin, options)) best = {begin, begin + depth, entry.id};
            ++low;
        }
        if (begin + depth >= text.size()) break;
        const unsigned char next = byte_at(text, begin + depth);
        const auto low_end = entries_.begin() + static_cast<std::ptrdiff_t>(high);
        const auto from = entries_.begin() + static_cast<std::ptrdiff_t>(low);
        const auto lower = std::partition_point(from, low_end, [depth, next](const Entry& other) {
            return byte_at(other.text, depth) < next;
        });
        const auto upper = std::partition_point(lower, low_end, [depth, next](const Entry& other) {
            return byte_at(other.text, depth) == next;
        });
        low = static_cast<size_t>(lower - entries_.begin());
        high = static_cast<size_t>(upper - entries_.begin());
    }
    return best;
}

CutSegment SpecialCutter::find_next(std::string_view text, size_t from,
                                    const CutOptions& options) const {
    const bool is_wanted =
        (options.control && has_control_) || (options.user_defined && has_user_defined_);
    for (size_t begin = from; is_wanted && begin < text.size(); ++begin) {
        const unsigned char first = byte_at(text, begin);
        if (first_byte_[first] == first_byte_[first + 1u]) continue;
        const CutSegment found = match_at(text, begin, options);
        if (found.token >= 0) return found;
    }
    return {text.size(), text.size(), -1};
}

}  // namespace hokku
