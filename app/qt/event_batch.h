// SPDX-License-Identifier: Apache-2.0
// EventBatch: what the inference thread has to say, gathered until the receiving thread fetches it
// once per frame. However fast tokens come, the receiver gets a bounded number of calls.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hokku/engine.h"

namespace hokku::qt {

struct PendingEvents {
    /// Whole characters. They are told in this order: the thought, then the text.
    std::string thought, text;
    bool text_was_thought = false;  ///< What was told before this batch is the thought.
    std::optional<DroppedTurns> dropped;
    std::optional<uint32_t> grown_to;
    std::optional<std::pair<uint32_t, uint32_t>> prefill;
    std::optional<double> load_fraction;
    std::optional<GenerationResult> result;

    /// The text so far turns out to be the thought; what is pending of it comes after that.
    void turn_text_to_thought() {
        text_was_thought = true;
        thought += std::exchange(text, {});
    }
};

/// Threads: thread-safe.
class EventBatch {
  public:
    /// Applies `change` to the pending events. Returns whether the receiver must be told: nothing
    /// was pending before.
    template <class Change>
    bool add(const Change& change) {
        const std::lock_guard lock(m_mutex);
        change(m_events);
        return !std::exchange(m_isPending, true);
    }
    PendingEvents take() {
        const std::lock_guard lock(m_mutex);
        m_isPending = false;
        return std::exchange(m_events, {});
    }

  private:
    std::mutex m_mutex;
    PendingEvents m_events;
    bool m_isPending = false;
};

}  // namespace hokku::qt
