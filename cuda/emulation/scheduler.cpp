// SPDX-License-Identifier: Apache-2.0
#include "emulation/scheduler.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

namespace hokku::emulation {

namespace {

constexpr uint32_t kWarp = 32;
constexpr uint64_t kMaxIdleYields = 20'000'000;
constexpr uint64_t kMaxCooperativeThreads = 65'536;
constexpr std::chrono::seconds kMaxIdle{20};

Thread* running_thread = nullptr;
Scheduler* running_scheduler = nullptr;
char host_order = 0;  // ThreadSanitizer's place for the host's own accesses.

OthersTurn others_turn = nullptr;
uint32_t resident_threads = kResidentThreads;

/// Launches of several threads take turns.
std::mutex& turns() {
    static std::mutex mutex;
    return mutex;
}

FiberStacks& stacks() {
    static FiberStacks pool;
    return pool;
}

std::vector<Kernel>& kernels() {
    static std::vector<Kernel> all;
    return all;
}

std::string describe(const Thread& thread, const std::string& what) {
    const Block& block = *thread.block;
    return std::string(block.grid->launch->kernel->name) + ", block (" + std::to_string(block.x) +
           ", " + std::to_string(block.y) + ", " + std::to_string(block.z) + "), thread " +
           std::to_string(thread.index) + ": " + what;
}

std::string describe(const std::source_location& where) {
    std::string file = where.file_name();
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) file = file.substr(slash + 1);
    return file + ":" + std::to_string(where.line());
}

bool is_same_site(const std::source_location& a, const std::source_location& b) {
    return a.line() == b.line() && a.column() == b.column() &&
           (a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name());
}

std::string check_launch(const KernelLaunch& launch) {
    const Kernel& kernel = *launch.kernel;
    const std::string name = std::string(kernel.name) + ": ";
    if (launch.params.size() != kernel.param_bytes) {
        return name + std::to_string(launch.params.size()) + " bytes of parameters, expected " +
               std::to_string(kernel.param_bytes);
    }
    if (launch.num_threads == 0 || launch.num_threads > kernel.max_threads) {
        return name + std::to_string(launch.num_threads) + " threads a block, allowed are 1 to " +
               std::to_string(kernel.max_threads);
    }
    if (launch.grid.count() == 0 || launch.grid.y > 65535 || launch.grid.z > 65535) {
        return name + "a grid of " + std::to_string(launch.grid.x) + " x " +
               std::to_string(launch.grid.y) + " x " + std::to_string(launch.grid.z);
    }
    if (launch.shared_bytes > kMaxSharedBytes) {
        return name + std::to_string(launch.shared_bytes) + " bytes of shared memory";
    }
    if (launch.is_cooperative &&
        launch.grid.count() * launch.num_threads > kMaxCooperativeThreads) {
        return name + "too large for a cooperative launch";
    }
    return {};
}

}  // namespace

const Kernel* find_kernel(std::string_view name) {
    for (const Kernel& kernel : kernels()) {
        if (name == kernel.name) return &kernel;
    }
    return nullptr;
}

KernelRegistration::KernelRegistration(const Kernel& kernel) {
    kernels().push_back(kernel);
}

void set_others_turn(OthersTurn turn, uint32_t max_threads) {
    others_turn = turn;
    resident_threads = max_threads;
}

Thread& current_thread() {
    return *running_thread;
}

Scheduler& current_scheduler() {
    return *running_scheduler;
}

Scheduler::Scheduler(std::span<const KernelLaunch> launches, const Schedule& schedule)
    : schedule_(schedule), random_(schedule.seed), grids_(launches.size()) {
    for (size_t i = 0; i < launches.size(); ++i) {
        Grid& grid = grids_[i];
        grid.launch = &launches[i];
        if (launches[i].is_dependent && i > 0) grid.primary = &grids_[i - 1];
        if (error_.empty()) error_ = check_launch(launches[i]);
        grid.order.resize(launches[i].grid.count());
        std::iota(grid.order.begin(), grid.order.end(), 0u);
        if (schedule.order == Order::reverse) std::reverse(grid.order.begin(), grid.order.end());
        if (schedule.order == Order::random) {
            std::shuffle(grid.order.begin(), grid.order.end(), random_);
        }
    }
}

Scheduler::~Scheduler() {
    // After an error threads are left in the middle of their kernels; kernels own nothing.
    for (Grid& grid : grids_) {
        for (auto& block : grid.live) {
            if (!block) continue;
            for (Thread& thread : block->threads) {
                if (thread.fiber.stack() != nullptr) stacks().give_back(thread.fiber.stack());
                thread.fiber.forget();
            }
        }
    }
}

bool Scheduler::may_begin(size_t index) const {
    const Grid& grid = grids_[index];
    if (grid.primary != nullptr) return grid.primary->num_allowing == grid.primary->order.size();
    return std::all_of(grids_.begin(), grids_.begin() + static_cast<ptrdiff_t>(index),
                       [](const Grid& earlier) { return earlier.is_complete; });
}

bool Scheduler::begin_blocks() {
    bool has_begun = false;
    for (size_t i = 0; i < grids_.size(); ++i) {
        Grid& grid = grids_[i];
        if (grid.num_begun == grid.order.size()) continue;
        if (!may_begin(i)) continue;
        const KernelLaunch& launch = *grid.launch;
        while (grid.num_begun < grid.order.size() &&
               (launch.is_cooperative || num_live_threads_ == 0 ||
                num_live_threads_ + launch.num_threads <= resident_threads)) {
            begin_block(grid);
            has_begun = true;
        }
    }
    return has_begun;
}

void Scheduler::begin_block(Grid& grid) {
    const KernelLaunch& launch = *grid.launch;
    const uint32_t place = grid.order[grid.num_begun++];
    auto block = std::make_unique<Block>();
    block->grid = &grid;
    block->x = place % launch.grid.x;
    block->y = place / launch.grid.x % launch.grid.y;
    block->z = place / launch.grid.x / launch.grid.y;
    block->threads.resize(launch.num_threads);
    block->warps.resize((launch.num_threads + kWarp - 1) / kWarp);
    std::vector<Thread*> group;
    for (uint32_t i = 0; i < launch.num_threads; ++i) {
        block->threads[i].block = block.get();
        block->threads[i].index = i;
        block->warps[i / kWarp].present |= 1u << i % kWarp;
        group.push_back(&block->threads[i]);
    }
    num_live_threads_ += launch.num_threads;
    if (grid.primary != nullptr && schedule_.order == Order::forward) {
        wake(group);  // Before the rest of the launch that it should wait for.
    } else if (schedule_.order == Order::reverse) {
        ready_.insert(ready_.end(), group.rbegin(), group.rend());
    } else {
        ready_.insert(ready_.end(), group.begin(), group.end());
    }
    grid.live.push_back(std::move(block));
}

void Scheduler::wake(std::vector<Thread*>& group) {
    for (Thread* thread : group) thread->state = ThreadState::ready;
    switch (schedule_.order) {
        case Order::forward:
            ready_.insert(ready_.begin(), group.begin(), group.end());
            break;
        case Order::reverse:
            ready_.insert(ready_.begin(), group.rbegin(), group.rend());
            break;
        case Order::random:
            ready_.insert(ready_.end(), group.begin(), group.end());
            break;
    }
}

Thread* Scheduler::take_ready() {
    if (schedule_.order == Order::random) {
        std::swap(ready_[random_() % ready_.size()], ready_.back());
        Thread* thread = ready_.back();
        ready_.pop_back();
        return thread;
    }
    Thread* thread = ready_.front();
    ready_.pop_front();
    return thread;
}

RunReport Scheduler::run() {
    release(&host_order);
    running_scheduler = this;
    while (error_.empty()) {
        if (ready_.empty()) {
            if (begin_blocks()) continue;
            const bool is_complete = std::all_of(grids_.begin(), grids_.end(),
                                                 [](const Grid& g) { return g.is_complete; });
            if (!is_complete) error_ = describe_deadlock();
            break;
        }
        Thread& thread = *take_ready();
        if (thread.fiber.stack() == nullptr) {
            std::byte* stack = stacks().take();
            if (stack == nullptr) {
                error_ = "no memory for the stack of another emulated thread";
                break;
            }
            thread.fiber.start(stack, &Scheduler::thread_entry);
        }
        running_thread = &thread;
        ++num_switches_;
        thread.fiber.resume();
        if (thread.state == ThreadState::done) end_thread(thread);
        if (num_yields_in_a_row_ > 2 * ready_.size() + kWarp) let_others_run();
    }
    running_thread = nullptr;
    running_scheduler = nullptr;
    for (Grid& grid : grids_) acquire(&grid.memory_order);
    return {error_, num_switches_};
}

void Scheduler::let_others_run() {
    num_yields_in_a_row_ = 0;
    if (others_turn == nullptr) return;
    const Thread& last = *running_thread;
    turns().unlock();
    const Others others = others_turn();
    turns().lock();
    running_scheduler = this;
    if (others == Others::none) return;
    const auto now = std::chrono::steady_clock::now();
    if (!is_idle_) idle_since_ = now;
    is_idle_ = true;
    num_idle_yields_ = 0;
    if (others == Others::failed || now - idle_since_ > kMaxIdle) {
        error_ = describe(last, "waits in a loop for what no device does");
    }
}

void Scheduler::thread_entry() {
    Fiber::entered();
    Thread* thread = nullptr;
    const KernelLaunch* launch = nullptr;
    {
        const IgnoreAccesses ignore;
        thread = &current_thread();
        Grid* grid = thread->block->grid;
        launch = grid->launch;
        acquire(&host_order);
        // Launches that had ended before this one, or those it depends on in a row, could begin.
        Grid* first = grid;
        while (first->primary != nullptr) first = first->primary;
        for (Grid& earlier : running_scheduler->grids_) {
            if (&earlier == first) break;
            acquire(&earlier.memory_order);
        }
    }
    launch->kernel->run(launch->params.data());
    release(&thread->block->grid->memory_order);
    thread->state = ThreadState::done;
    thread->fiber.suspend_for_good();
}

void Scheduler::note_progress() {
    num_idle_yields_ = num_yields_in_a_row_ = 0;
    is_idle_ = false;
}

void Scheduler::end_thread(Thread& thread) {
    Block& block = *thread.block;
    note_progress();
    stacks().give_back(thread.fiber.stack());
    thread.fiber.forget();
    --num_live_threads_;
    ++block.num_done;
    std::string fault;
    if (!thread.copies.open.empty() || !thread.copies.groups.empty()) {
        fault = "ended with asynchronous copies that were not waited for";
    } else if (block.num_at_barrier > 0) {
        fault = "ended while others of its block wait at the barrier at " +
                describe(block.barrier_site);
    } else if (block.grid->primary != nullptr && !thread.has_waited) {
        fault = "ended without having waited for the launch that it depends on";
    }
    Warp& warp = block.warps[thread.index / kWarp];
    const uint32_t bit = 1u << thread.index % kWarp;
    warp.done |= bit;
    for (uint32_t lane = 0; lane < kWarp && warp.waiting >> lane != 0 && fault.empty(); ++lane) {
        if ((warp.waiting >> lane & 1u) == 0) continue;
        const WarpCall& call = *block.threads[thread.index / kWarp * kWarp + lane].call;
        if ((call.mask & bit) != 0) {
            fault = "ended while lane " + std::to_string(lane) +
                    " waits for it in the warp operation at " + describe(call.where);
        }
    }
    if (!fault.empty()) {
        error_ = describe(thread, fault);
        return;
    }
    if (block.num_done == block.threads.size()) end_block(block);
}

void Scheduler::end_block(Block& block) {
    Grid& grid = *block.grid;
    const std::string damaged = block.shared.find_damage();
    if (!damaged.empty()) {
        error_ = describe(block.threads.front(),
                          "something was written outside the bounds of shared array " + damaged);
        return;
    }
    ++grid.num_done;
    if (!block.is_allowing) ++grid.num_allowing;
    const auto is_this = [&](const auto& live) { return live.get() == &block; };
    grid.live.erase(std::find_if(grid.live.begin(), grid.live.end(), is_this));
    if (grid.num_done == grid.order.size()) {
        grid.is_complete = true;
        std::vector<Thread*> waiting;
        for (Grid& later : grids_) {
            if (later.primary != &grid) continue;
            for (auto& live : later.live) {
                for (Thread& thread : live->threads) {
                    if (thread.state == ThreadState::at_primary) waiting.push_back(&thread);
                }
            }
        }
        wake(waiting);
    }
    begin_blocks();
}

std::string Scheduler::describe_deadlock() const {
    for (const Grid& grid : grids_) {
        for (const auto& block : grid.live) {
            for (const Thread& thread : block->threads) {
                const std::string what = "no thread can go on; this one waits ";
                if (thread.state == ThreadState::at_barrier) {
                    return describe(thread,
                                    what + "at the barrier at " + describe(block->barrier_site));
                }
                if (thread.state == ThreadState::at_collective) {
                    return describe(
                        thread, what + "in the warp operation at " + describe(thread.call->where));
                }
                if (thread.state == ThreadState::at_primary) {
                    return describe(thread, what + "for the launch that it depends on");
                }
            }
        }
    }
    return "no thread can go on";
}

void Scheduler::fail(std::string what) {
    Thread& thread = current_thread();
    error_ = describe(thread, what);
    std::string().swap(what);  // Nothing of this stack will be destroyed.
    thread.fiber.suspend_for_good();
}

void Scheduler::block_current(ThreadState state) {
    Thread& thread = current_thread();
    thread.state = state;
    thread.fiber.suspend();
}

std::string Scheduler::check_barrier(const std::source_location& where) const {
    const Block& block = *current_thread().block;
    if (block.num_done > 0) {
        return "reached the barrier at " + describe(where) + " after " +
               std::to_string(block.num_done) + " threads of its block have ended";
    }
    if (block.num_at_barrier > 0 && !is_same_site(block.barrier_site, where)) {
        return "reached the barrier at " + describe(where) + " while others wait at " +
               describe(block.barrier_site);
    }
    return {};
}

void Scheduler::barrier(std::source_location where) {
    Block& block = *current_thread().block;
    note_progress();
    if (std::string fault = check_barrier(where); !fault.empty()) fail(std::move(fault));
    block.barrier_site = where;
    release(&block);
    if (++block.num_at_barrier < block.threads.size()) {
        block_current(ThreadState::at_barrier);
    } else {
        block.num_at_barrier = 0;
        std::vector<Thread*> waiting;
        for (Thread& thread : block.threads) {
            if (thread.state == ThreadState::at_barrier) waiting.push_back(&thread);
        }
        wake(waiting);
    }
    acquire(&block);
}

std::string Scheduler::check_lane(const WarpCall& call, uint32_t lane) const {
    const Thread& thread = current_thread();
    const Block& block = *thread.block;
    const uint32_t place = thread.index / kWarp * kWarp + lane;
    if (place >= block.threads.size()) {
        return "the warp operation at " + describe(call.where) +
               " names lanes that its block lacks";
    }
    const Thread& other = block.threads[place];
    if (other.state == ThreadState::done) {
        return "the warp operation at " + describe(call.where) + " waits for lane " +
               std::to_string(lane) + ", which has ended";
    }
    if (other.state == ThreadState::at_collective &&
        (other.call->mask != call.mask || other.call->combine != call.combine ||
         !is_same_site(other.call->where, call.where))) {
        return "the warp operation at " + describe(call.where) + " meets lane " +
               std::to_string(lane) + " in the one at " + describe(other.call->where) +
               ": masks, operations and places must agree";
    }
    return {};
}

void Scheduler::check_lanes(const WarpCall& call, uint32_t mask) {
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
        if (std::string fault = check_lane(call, lane); !fault.empty()) fail(std::move(fault));
    }
}

void Scheduler::collective(const WarpCall& call) {
    Thread& thread = current_thread();
    Block& block = *thread.block;
    note_progress();
    const uint32_t lane = thread.index % kWarp, first = thread.index - lane, own = 1u << lane;
    if ((call.mask & own) == 0) {
        fail("the warp operation at " + describe(call.where) + " has a mask without its own lane");
    }
    Warp& warp = block.warps[thread.index / kWarp];
    const uint32_t others = call.mask & ~own, waiting = warp.waiting & others;
    check_lanes(call, others & (warp.done | ~warp.present));
    check_lanes(call, waiting & (0u - waiting));  // One of them; the last to arrive looks at all.
    char* const order = &block.threads[first].warp_order;
    if (call.is_barrier) release(order);
    if (waiting != others) {
        thread.call = &call;
        warp.waiting |= own;
        block_current(ThreadState::at_collective);
    } else {
        check_lanes(call, others);
        const WarpCall* lanes[kWarp] = {};
        for (uint32_t i = 0; i < kWarp; ++i) {
            if ((others >> i & 1u) != 0) lanes[i] = block.threads[first + i].call;
        }
        lanes[lane] = &call;
        call.combine(lanes, call.mask);  // May fail: this stack owns nothing yet.
        std::vector<Thread*> group;
        for (uint32_t i = 0; i < kWarp; ++i) {
            if ((others >> i & 1u) != 0) group.push_back(&block.threads[first + i]);
        }
        warp.waiting &= ~others;
        wake(group);
    }
    if (call.is_barrier) acquire(order);
}

void Scheduler::yield() {
    ++num_yields_in_a_row_;
    if (++num_idle_yields_ > kMaxIdleYields) fail("waits in a loop for what no thread does");
    ready_.push_back(&current_thread());
    block_current(ThreadState::ready);
}

void Scheduler::wait_for_primary() {
    Thread& thread = current_thread();
    Grid* primary = thread.block->grid->primary;
    thread.has_waited = true;
    if (primary == nullptr) return;
    if (!primary->is_complete) block_current(ThreadState::at_primary);
    acquire(&primary->memory_order);
}

void Scheduler::set_allowing(Block& block) {
    if (block.is_allowing) return;
    block.is_allowing = true;
    ++block.grid->num_allowing;
    begin_blocks();
}

void Scheduler::allow_dependents() {
    set_allowing(*current_thread().block);
}

RunReport run_launches(std::span<const KernelLaunch> launches, const Schedule& schedule) {
    const std::lock_guard lock(turns());
    const IgnoreAccesses ignore;
    Scheduler scheduler(launches, schedule);
    return scheduler.run();
}

}  // namespace hokku::emulation
