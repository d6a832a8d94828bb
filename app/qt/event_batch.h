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
    std::string text, thought;  ///< Whole characters.
    std::optional<std::pair<uint32_t, uint32_t>> prefill;
    std::optional<double> load_fraction;
    std::optional<GenerationResult> result;
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
