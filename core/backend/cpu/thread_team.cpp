// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/thread_team.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hokku::cpu {

namespace {

/// Turns of a spinning wait before it sleeps in the kernel: about 30 us on Zen 5. A barrier met
/// within that time costs under 1 us; a sleep costs 20 us (measured).
constexpr uint32_t kSpinTurns = 2000;

void pause_cpu() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Returns once `word` differs from `old`. Who changes it uses a sequentially consistent
/// read-modify-write before notify_all: libstdc++'s notify looks for sleepers with a plain load,
/// which x86 may move before a plain store of the word.
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t old) {
    for (uint32_t turn = 0; turn < kSpinTurns; ++turn) {
        if (word.load(std::memory_order_acquire) != old) return;
        pause_cpu();
    }
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadTeam::State {
    // Each word that other lanes poll has a cache line of its own.
    alignas(64) std::atomic<uint32_t> num_arrived{0};
    alignas(64) std::atomic<uint32_t> barrier_round{0};
    alignas(64) std::atomic<uint32_t> run_round{0};
    alignas(64) std::atomic<uint32_t> num_done{0};
    alignas(64) uint32_t num_lanes = 1;
    bool stopping = false;
    void (*task)(void*, Lane) = nullptr;
    void* context = nullptr;
    std::vector<std::thread> threads;

    void arrive_and_wait() {
        const uint32_t round = barrier_round.load(std::memory_order_relaxed);
        if (num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == num_lanes) {
            num_arrived.store(0, std::memory_order_relaxed);
            barrier_round.fetch_add(1);
            barrier_round.notify_all();
        } else {
            wait_for_change(barrier_round, round);
        }
    }

    void work(uint32_t index, ThreadTeam* team) {
        for (uint32_t round = 0;; ++round) {
            wait_for_change(run_round, round);
            if (stopping) return;
            task(context, Lane{index, num_lanes, team});
            if (num_done.fetch_add(1) + 2 == num_lanes) {
                num_done.notify_all();
            }
        }
    }

    void start_round() {
        run_round.fetch_add(1);
        run_round.notify_all();
    }
};

void Lane::barrier() const {
    if (count > 1) team->state_->arrive_and_wait();
}

Lane::Range Lane::share(uint32_t total, uint32_t unit) const {
    const uint64_t num_units = (uint64_t{total} + unit - 1) / unit;
    const uint64_t begin = num_units * index / count * unit;
    const uint64_t end = num_units * (uint64_t{index} + 1) / count * unit;
    return {static_cast<uint32_t>(std::min<uint64_t>(begin, total)),
            static_cast<uint32_t>(std::min<uint64_t>(end, total))};
}

ThreadTeam::ThreadTeam(uint32_t num_threads) : state_(std::make_unique<State>()) {
    num_threads = std::max(num_threads, 1u);
    state_->threads.reserve(num_threads - 1);
    try {
        for (uint32_t i = 1; i < num_threads; ++i) {
            state_->threads.emplace_back([this, i] { state_->work(i, this); });
        }
    } catch (const std::system_error&) {
        // The system refuses more threads: run with those that there are.
    }
    state_->num_lanes = static_cast<uint32_t>(state_->threads.size()) + 1;
}

ThreadTeam::~ThreadTeam() {
    state_->stopping = true;
    state_->start_round();
    for (std::thread& thread : state_->threads) thread.join();
}

void ThreadTeam::run(void (*task)(void* context, Lane lane), void* context) {
    State& state = *state_;
    const Lane first{0, state.num_lanes, this};
    if (state.num_lanes == 1) return task(context, first);
    state.task = task;
    state.context = context;
    state.num_done.store(0, std::memory_order_relaxed);
    state.start_round();
    task(context, first);
    for (uint32_t done = state.num_done.load(std::memory_order_acquire);
         done + 1 != state.num_lanes; done = state.num_done.load(std::memory_order_acquire)) {
        wait_for_change(state.num_done, done);
    }
}

uint32_t ThreadTeam::size() const {
    return state_->num_lanes;
}

}  // namespace hokku::cpu
