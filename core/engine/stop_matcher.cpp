// SPDX-License-Identifier: Apache-2.0
#include "engine/stop_matcher.h"

#include <algorithm>

#include "base/utf8.h"

namespace hokku {

Result<StopMatcher> StopMatcher::create(std::vector<std::string> stops) {
    for (const std::string& stop : stops) {
        if (stop.empty())
            return Error{ErrorCode::bad_argument, "a stop string is empty", "stop_strings", "text"};
        if (!is_valid_utf8(stop))
            return Error{ErrorCode::bad_argument, "a stop string is not UTF-8", to_printable(stop),
                         "UTF-8 text"};
    }
    return StopMatcher(std::move(stops));
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
    for (const std::string& stop : stops_) longest_stop_ = std::max(longest_stop_, stop.size());
    pending_.reserve(2 * longest_stop_ + 1024);
}

std::string_view StopMatcher::push(std::string_view piece) {
    pending_.erase(0, released_);
    released_ = 0;
    pending_ += piece;
    size_t first_end = std::string::npos, start = 0;
    for (const std::string& stop : stops_) {
        const size_t found = pending_.find(stop);
        if (found == std::string::npos) continue;
        const size_t end = found + stop.size();
        if (end < first_end || (end == first_end && found < start)) {
            first_end = end;
            start = found;
        }
    }
    if (first_end != std::string::npos) {
        is_stopped_ = true;
        return release(start);
    }
    return release(pending_.size() - held_back_bytes());
}

size_t StopMatcher::held_back_bytes() const {
    const std::string_view text = pending_;
    for (size_t bytes = std::min(longest_stop_, text.size()); bytes > 0; --bytes) {
        const std::string_view suffix = text.substr(text.size() - bytes);
        for (const std::string& stop : stops_) {
            if (bytes < stop.size() && stop.compare(0, bytes, suffix) == 0) return bytes;
        }
    }
    return 0;
}

std::string_view StopMatcher::release(size_t bytes) {
    released_ = bytes;
    return std::string_view(pending_).substr(0, bytes);
}

std::string_view StopMatcher::finish() {
    if (is_stopped_) return {};
    pending_.erase(0, released_);
    return release(pending_.size());
}

}  // namespace hokku
