// SPDX-License-Identifier: Apache-2.0
// Scheduler: takes the threads of emulated launches through their kernels on one OS thread, each
// on a fiber, in the order that a Schedule asks for. What only the emulator's own files need.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "emulation/fiber.h"
#include "emulation/launch.h"
#include "emulation/shared_memory.h"

namespace hokku::emulation {

struct Block;
struct Grid;

enum class ThreadState : uint8_t { ready, at_barrier, at_collective, at_primary, done };

/// One side of a warp operation: what this lane brings and where its result goes.
struct WarpCall {
    using Combine = void (*)(const WarpCall* const* lanes, uint32_t mask);
    Combine combine = nullptr;  ///< Called once, by the last lane to arrive.
    uint32_t mask = 0;
    const void* in = nullptr;
    void* out = nullptr;
    std::source_location where = {};
    bool is_barrier = false;  ///< Orders memory accesses.
};

struct AsyncCopy {
    std::byte* target;
    const std::byte* source;  ///< Null: zeros.
    uint32_t bytes;
};

/// Copies that a thread has begun and not waited for.
struct AsyncCopies {
    std::vector<AsyncCopy> open;
    std::deque<std::vector<AsyncCopy>> groups;
};

struct Thread {
    Fiber fiber;
    Block* block = nullptr;
    uint32_t index = 0;
    ThreadState state = ThreadState::ready;
    bool has_waited = false;  ///< For the launch that this one depends on.
    char warp_order = 0;      ///< ThreadSanitizer's place for the warp that begins here.
    const WarpCall* call = nullptr;
    AsyncCopies copies;
};

/// Lanes as bits.
struct Warp {
    uint32_t present = 0, waiting = 0, done = 0;
};

struct Block {
    Grid* grid = nullptr;
    uint32_t x = 0, y = 0, z = 0;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    SharedMemory shared;
    uint32_t num_at_barrier = 0, num_done = 0;
    bool is_allowing = false;  ///< One thread is enough to let dependents begin, as on devices.
    std::source_location barrier_site = {};
};

struct Grid {
    const KernelLaunch* launch = nullptr;
    Grid* primary = nullptr;             ///< The launch in front, where this one depends on it.
    std::vector<uint32_t> order;         ///< Of its blocks.
    size_t num_begun = 0, num_done = 0;  ///< Blocks.
    size_t num_allowing = 0;             ///< Blocks that have ended or let dependents begin.
    std::vector<std::unique_ptr<Block>> live;
    bool is_complete = false;
    char memory_order = 0;  ///< ThreadSanitizer's place for begin and end.
};

class Scheduler {
  public:
    Scheduler(std::span<const KernelLaunch> launches, const Schedule& schedule);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;
    RunReport run();

    // --- Called by the running thread ---
    /// Names the kernel, block and thread, then ends the whole run. Does not return.
    [[noreturn]] void fail(std::string what);
    void barrier(std::source_location where);
    void collective(const WarpCall& call);
    void yield();
    void wait_for_primary();
    void allow_dependents();
    [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  private:
    bool begin_blocks();
    bool may_begin(size_t grid) const;
    void begin_block(Grid& grid);
    void end_thread(Thread& thread);
    void note_progress();
    void end_block(Block& block);
    void wake(std::vector<Thread*>& group);
    Thread* take_ready();
    /// Where threads only wait in loops: what they wait for may come from another device.
    void let_others_run();
    void block_current(ThreadState state);
    void set_allowing(Block& block);
    /// What the running thread breaks by reaching this; empty: nothing.
    std::string check_barrier(const std::source_location& where) const;
    std::string check_lane(const WarpCall& call, uint32_t lane) const;
    /// Looks at the lanes of a mask, in turn.
    void check_lanes(const WarpCall& call, uint32_t mask);
    std::string describe_deadlock() const;
    static void thread_entry();

    Schedule schedule_;
    std::mt19937_64 random_;
    std::vector<Grid> grids_;
    std::deque<Thread*> ready_;
    uint64_t num_live_threads_ = 0, num_switches_ = 0, num_idle_yields_ = 0;
    uint64_t num_yields_in_a_row_ = 0;  ///< Of threads that took turns.
    std::chrono::steady_clock::time_point idle_since_ = {};
    bool is_idle_ = false;
    std::string error_;
};

/// The thread that runs now.
Thread& current_thread();
Scheduler& current_scheduler();

}  // namespace hokku::emulation
