// SPDX-License-Identifier: Apache-2.0
// SourceText: the text of a grammar or pattern while it is parsed: a place in it, and errors that
// name line and column.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "hokku/error.h"

namespace hokku::constraint {

/// Threads: one thread at a time. Needs the text alive, and valid UTF-8.
class SourceText {
  public:
    /// `name` says what the text is: "grammar", "pattern".
    SourceText(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }
    [[nodiscard]] size_t pos() const { return pos_; }
    /// The byte here or `ahead` later; 0 behind the end.
    [[nodiscard]] char peek(size_t ahead = 0) const {
        return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
    }
    void skip(size_t num_bytes) { pos_ += num_bytes; }
    [[nodiscard]] bool take(std::string_view expected) {
        if (text_.substr(pos_, expected.size()) != expected) return false;
        pos_ += expected.size();
        return true;
    }
    /// The next character. Needs !at_end().
    char32_t take_char() {
        const Utf8Char c = decode_utf8(text_, pos_);
        pos_ += c.num_bytes;
        return c.code_point;
    }
    [[nodiscard]] std::string_view from(size_t begin) const {
        return text_.substr(begin, pos_ - begin);
    }

    /// "grammar, line 3, column 5", both counted from 1, columns in characters.
    [[nodiscard]] std::string place(size_t pos) const {
        const std::string_view before = text_.substr(0, pos);
        const auto line = std::count(before.begin(), before.end(), '\n') + 1;
        const size_t newline = before.rfind('\n');
        const std::string_view in_line =
            newline == std::string_view::npos ? before : before.substr(newline + 1);
        const auto column = std::count_if(in_line.begin(), in_line.end(), [](char byte) {
            return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
        });
        return fmt::format("{}, line {}, column {}", name_, line, column + 1);
    }
    [[nodiscard]] Error error(size_t pos, std::string what, std::string expected,
                              ErrorCode code = ErrorCode::bad_format) const {
        return {code, std::move(what), place(pos), std::move(expected)};
    }
    [[nodiscard]] Error error_here(std::string what, std::string expected) const {
        return error(pos_, std::move(what), std::move(expected));
    }
    /// The character here, for a message; nothing at the end.
    [[nodiscard]] std::string shown_char() const {
        if (at_end()) return "";
        return to_printable(text_.substr(pos_, decode_utf8(text_, pos_).num_bytes));
    }
    /// What stands here, for a message: "x" in quotes, or: the end.
    [[nodiscard]] std::string shown() const {
        return at_end() ? "the end" : "\"" + shown_char() + "\"";
    }

  private:
    std::string_view text_, name_;
    size_t pos_ = 0;
};

}  // namespace hokku::constraint
