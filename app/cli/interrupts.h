// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as an event. Make one Interrupts before anything that starts threads: it keeps the signal
// away from all of them, and the event comes on a thread of its own, where calling into the engine
// is allowed (in a signal handler it would not be).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace hokku::cli {

/// Threads: on_interrupt may be called from any thread. Lives until the process ends or leaves
///          its scope; at most one at a time.
class Interrupts {
  public:
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// What the next Ctrl-C does, on the thread of events; it is used once. Empty: leave the
    /// program at once with exit code 130, as a Ctrl-C without this class would. Waits for a
    /// handler that runs just now, so that what it refers to may go afterwards; not to be called
    /// from a handler.
    void on_interrupt(std::function<void()> handle);

    /// What the system's source of events calls, one at a time.
    void deliver();

  private:
    /// Of the system: lets Ctrl-C come to deliver() while it lives.
    struct Source;
    std::mutex mutex_;  // guards handle_, is_handling_
    std::condition_variable handled_;
    std::function<void()> handle_;
    bool is_handling_ = false;
    std::unique_ptr<Source> source_;
};

}  // namespace hokku::cli
