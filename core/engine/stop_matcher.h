// SPDX-License-Identifier: Apache-2.0
// StopMatcher: cuts a stream of text before the first stop string, whatever pieces the text comes
// in. It holds back only what may still turn out to be the start of a stop string.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"

namespace hokku {

/// Threads: one thread at a time. No allocation once its buffer has grown to the longest piece.
class StopMatcher {
  public:
    /// Errors : bad_argument for a stop string that is empty or not UTF-8.
    static Result<StopMatcher> create(std::vector<std::string> stops);

    /// The text that is certain to come before any stop string; valid until the next call. When a
    /// stop string is complete, is_stopped() holds and nothing more may be pushed. Of several, the
    /// one that is complete first counts, so that the result does not depend on the pieces.
    std::string_view push(std::string_view piece);
    /// What was held back, once it is known that the text ends here.
    std::string_view finish();
    /// What is held back now.
    [[nodiscard]] std::string_view held_back() const {
        return std::string_view(pending_).substr(released_);
    }
    [[nodiscard]] bool is_stopped() const { return is_stopped_; }

  private:
    explicit StopMatcher(std::vector<std::string> stops);
    [[nodiscard]] size_t held_back_bytes() const;
    std::string_view release(size_t bytes);

    std::vector<std::string> stops_;
    size_t longest_stop_ = 0;
    std::string pending_;
    size_t released_ = 0;  ///< Bytes at the start of pending_ that were given out already.
    bool is_stopped_ = false;
};

}  // namespace hokku
