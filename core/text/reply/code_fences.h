// SPDX-License-Identifier: Apache-2.0
// CodeFences: whether a place in Markdown text lies within a code block between fences.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/reply/reply_buffer.h"

namespace hokku::reply {

/// A fence is a line that begins, after at most three spaces, with three backticks or more; one of
/// at least as many closes it.
/// Source : CommonMark 0.31, section 4.5.
class CodeFences {
  public:
    void push(std::string_view text) {
        for (const char c : text) push(c);
    }
    [[nodiscard]] bool is_inside() const { return fence_length_ > 0; }
    [[nodiscard]] bool is_at_line_start() const {
        return is_indent_ && num_spaces_ == 0 && num_ticks_ == 0;
    }
    /// What stood there until now was something else.
    void reset() { *this = CodeFences(); }

  private:
    void push(char c) {
        if (c == '\n') {
            if (num_ticks_ >= 3 && (fence_length_ == 0 || num_ticks_ >= fence_length_))
                fence_length_ = fence_length_ == 0 ? num_ticks_ : 0;
            num_spaces_ = num_ticks_ = 0;
            is_indent_ = is_run_ = true;
        } else if (c == '`' && is_run_) {
            is_indent_ = false;
            ++num_ticks_;
        } else if (c == ' ' && is_indent_ && num_spaces_ < 3) {
            ++num_spaces_;
        } else {
            // A closing fence stands alone; backticks on one line are inline code.
            if (fence_length_ > 0 ? !is_space(c) : c == '`') num_ticks_ = 0;
            is_indent_ = is_run_ = false;
        }
    }

    size_t fence_length_ = 0;  ///< Of the one that is open.
    size_t num_ticks_ = 0, num_spaces_ = 0;
    bool is_indent_ = true;  ///< Nothing but spaces on this line so far.
    bool is_run_ = true;     ///< Nothing but these and backticks.
};

}  // namespace hokku::reply
