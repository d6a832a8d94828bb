// SPDX-License-Identifier: Apache-2.0
#include "interrupts.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hokku::cli {

namespace {

constexpr int kExitByInterrupt = 130;  // 128 + SIGINT, as shells report it.

}  // namespace

void Interrupts::on_interrupt(std::function<void()> handle) {
    std::unique_lock lock(mutex_);
    handled_.wait(lock, [this] { return !is_handling_; });
    handle_ = std::move(handle);
}

void Interrupts::deliver() {
    std::function<void()> handle;
    {
        const std::lock_guard lock(mutex_);
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

}  // namespace hokku::cli
