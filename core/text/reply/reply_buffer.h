// SPDX-License-Identifier: Apache-2.0
// ReplyBuffer: the part of a streamed text that is not understood yet. Every question about it has
// the answer "maybe" where more text could change it, so that no way of cutting the stream matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace hokku::reply {

/// Stands before the text of a control token in the buffer and in markers. Never part of UTF-8.
inline constexpr char kControlSign = '\xff';

enum class Fit { no, maybe, yes };

inline bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// What names of tools and of their arguments are made of.
inline bool is_name_byte(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

/// Places are counted from the beginning of the unread text.
class ReplyBuffer {
  public:
    void append(std::string_view text) { text_ += text; }
    /// Nothing follows: from here on there is no "maybe".
    void close() { is_closed_ = true; }
    [[nodiscard]] bool is_closed() const { return is_closed_; }

    [[nodiscard]] std::string_view unread() const {
        return std::string_view(text_).substr(cursor_);
    }
    [[nodiscard]] size_t size() const { return text_.size() - cursor_; }
    [[nodiscard]] char at(size_t place) const { return text_[cursor_ + place]; }

    /// Whether `literal` stands at `place`.
    [[nodiscard]] Fit fits(size_t place, std::string_view literal) const {
        const std::string_view here = unread().substr(place);
        if (here.starts_with(literal)) return Fit::yes;
        const bool is_begun = here.size() < literal.size() && literal.starts_with(here);
        return is_begun && !is_closed_ ? Fit::maybe : Fit::no;
    }
    /// The first place from `place` on that is not white space; size() if there is none yet. Gives
    /// up after kMostSpace bytes, as the same place may be asked about again and again.
    [[nodiscard]] size_t skip_space(size_t place) const {
        const size_t end = std::min(size(), place + kMostSpace);
        while (place < end && is_space(at(place))) ++place;
        return place;
    }

    /// Marks text as read. What has been read is dropped now and then.
    void read(size_t num_bytes) {
        cursor_ += num_bytes;
        if (cursor_ == text_.size() || cursor_ > kMostReadBytes) {
            text_.erase(0, cursor_);
            cursor_ = 0;
        }
    }
    void reserve(size_t num_bytes) { text_.reserve(num_bytes); }

  private:
    static constexpr size_t kMostReadBytes = 4096, kMostSpace = 256;
    std::string text_;
    size_t cursor_ = 0;
    bool is_closed_ = false;
};

/// The text without the signs of control tokens.
std::string without_control_signs(std::string_view text);

}  // namespace hokku::reply
