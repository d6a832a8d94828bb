// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/thread_team.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/numa.h"
#include "base/sleep_on_word.h"

namespace hokku::cpu {

struct ThreadTeam::State {
    // Each word that other lanes poll has a cache line of its own.
    alignas(64) std::atomic<uint32_t> run_round{0};
    alignas(64) std::atomic<uint32_t> num_done{0};
    alignas(64) uint32_t num_lanes = 1;
    bool stopping = false;
    std::optional<Barrier> barrier;  // made once it is known how many threads there are
    void (*task)(void*, Lane) = nullptr;
    void* context = nullptr;
    std::vector<std::vector<uint32_t>> lane_cpus;
    std::vector<std::thread> threads;

    std::span<const uint32_t> cpus_of(uint32_t lane) const {
        if (lane >= lane_cpus.size()) return {};
        return lane_cpus[lane];
    }

    void work(uint32_t index) {
        const ThreadBinding binding(cpus_of(index));
        for (uint32_t round = 0;; ++round) {
            wait_for_change(run_round, round);
            if (stopping) return;
            task(context, Lane{index, num_lanes, &*barrier});
            if (num_done.fetch_add(1) + 2 == num_lanes) {
                wake_all(num_done);
            }
        }
    }

    void start_round() {
        run_round.fetch_add(1);
        wake_all(run_round);
    }
};

void Lane::barrier() const {
    if (count > 1) shared_barrier->arrive_and_wait();
}

Lane::Range Lane::share(uint32_t total, uint32_t unit) const {
    const uint64_t num_units = (uint64_t{total} + unit - 1) / unit;
    const uint64_t begin = num_units * index / count * unit;
    const uint64_t end = num_units * (uint64_t{index} + 1) / count * unit;
    return {static_cast<uint32_t>(std::min<uint64_t>(begin, total)),
            static_cast<uint32_t>(std::min<uint64_t>(end, total))};
}

ThreadTeam::ThreadTeam(uint32_t num_threads, std::vector<std::vector<uint32_t>> lane_cpus)
    : state_(std::make_unique<State>()) {
    state_->lane_cpus = std::move(lane_cpus);
    num_threads = std::max(num_threads, 1u);
    state_->threads.reserve(num_threads - 1);
    try {
        for (uint32_t i = 1; i < num_threads; ++i) {
            state_->threads.emplace_back([this, i] { state_->work(i); });
        }
    } catch (const std::system_error&) {
        // The system refuses more threads: run with those that there are.
    }
    state_->num_lanes = static_cast<uint32_t>(state_->threads.size()) + 1;
    state_->barrier.emplace(state_->num_lanes);
}

ThreadTeam::~ThreadTeam() {
    state_->stopping = true;
    state_->start_round();
    for (std::thread& thread : state_->threads) thread.join();
}

void ThreadTeam::run(void (*task)(void* context, Lane lane), void* context) {
    State& state = *state_;
    const ThreadBinding binding(state.cpus_of(0));
    const Lane first{0, state.num_lanes, &*state.barrier};
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
