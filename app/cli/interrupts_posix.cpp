// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "interrupts.h"

namespace hokku::cli {

namespace {

sigset_t interrupt_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);  // Only to wake the waiting thread at the end.
    return set;
}

}  // namespace

struct Interrupts::Source {
    explicit Source(Interrupts& interrupts) {
        const sigset_t set = interrupt_signals();
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        thread = std::thread([this, &interrupts] { wait_for_signals(interrupts); });
    }
    ~Source() {
        is_ending = true;
        pthread_kill(thread.native_handle(), SIGUSR1);
        thread.join();
    }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    void wait_for_signals(Interrupts& interrupts) {
        const sigset_t set = interrupt_signals();
        while (true) {
            int number = 0;
            if (sigwait(&set, &number) != 0) continue;
            if (is_ending) return;
            if (number == SIGINT) interrupts.deliver();
        }
    }

    std::atomic<bool> is_ending{false};
    std::thread thread;
};

Interrupts::Interrupts() : source_(std::make_unique<Source>(*this)) {}
Interrupts::~Interrupts() = default;

}  // namespace hokku::cli
