// SPDX-License-Identifier: Apache-2.0
// CommandQueue: the commands for the inference thread, in the order of their arrival.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace hokku {

/// Threads: safe from any thread. pop() blocks.
class CommandQueue {
  public:
    struct Command {
        std::function<void()> run;
        bool is_exclusive = false;  ///< Waits until no generation runs.
    };

    void push(Command command) {
        {
            const std::lock_guard lock(mutex_);
            commands_.push_back(std::move(command));
        }
        changed_.notify_one();
    }

    /// The next command; nullopt once the queue is closed and empty.
    std::optional<Command> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_closed_ || !commands_.empty(); });
        return take();
    }

    /// The next command if there is one and it is not exclusive. Does not wait.
    std::optional<Command> pop_shared() {
        const std::lock_guard lock(mutex_);
        if (commands_.empty() || commands_.front().is_exclusive) return std::nullopt;
        return take();
    }

    /// What is queued still runs.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            is_closed_ = true;
        }
        changed_.notify_all();
    }

  private:
    std::optional<Command> take() {
        if (commands_.empty()) return std::nullopt;
        Command command = std::move(commands_.front());
        commands_.pop_front();
        return command;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Command> commands_;
    bool is_closed_ = false;
};

}  // namespace hokku
