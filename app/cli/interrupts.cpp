// SPDX-License-Identifier: Apache-2.0
#include "interrupts.h"

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hokku::cli {

namespace {

sigset_t interrupt_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);  // Only to wake the waiting thread at the end.
    return set;
}

constexpr int kExitByInterrupt = 130;  // 128 + SIGINT, as shells report it.

}  // namespace

Interrupts::Interrupts() {
    const sigset_t set = interrupt_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    thread_ = std::thread([this] { wait_for_signals(); });
}

Interrupts::~Interrupts() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
}

void Interrupts::on_interrupt(std::function<void()> handle) {
    std::unique_lock lock(mutex_);
    handled_.wait(lock, [this] { return !is_handling_; });
    handle_ = std::move(handle);
}

void Interrupts::wait_for_signals() {
    const sigset_t set = interrupt_signals();
    while (true) {
        int number = 0;
        if (sigwait(&set, &number) != 0) continue;
        std::function<void()> handle;
        {
            const std::lock_guard lock(mutex_);
            if (is_ending_) return;
            if (number != SIGINT) continue;
            handle = std::exchange(handle_, nullptr);
            is_handling_ = handle != nullptr;
        }
        if (!handle) {
            std::fputs("\n", stderr);
            std::_Exit(kExitByInterrupt);
        }
        handle();
        handle = nullptr;
        {
            const std::lock_guard lock(mutex_);
            is_handling_ = false;
        }
        handled_.notify_all();
    }
}

}  // namespace hokku::cli
