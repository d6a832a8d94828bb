// SPDX-License-Identifier: Apache-2.0
// The state that a GenerationHandle shares with the inference thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "hokku/engine.h"

namespace hokku {

/// Threads: safe from any thread.
struct GenerationHandle::State {
    explicit State(std::thread::id thread) : inference_thread(thread) {}

    void finish(GenerationResult value) {
        {
            const std::lock_guard lock(mutex);
            result = std::move(value);
        }
        changed.notify_all();
    }
    GenerationResult wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return result.has_value(); });
        return *result;
    }

    const std::thread::id inference_thread;
    std::stop_source stop;

  private:
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<GenerationResult> result;
};

}  // namespace hokku
