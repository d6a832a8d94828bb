// SPDX-License-Identifier: Apache-2.0
// What the emulator runs: kernels by name, launches of them, and the order in which their threads
// take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hokku::emulation {

/// A kernel that was compiled for the host. All take one struct by value.
struct Kernel {
    const char* name;
    size_t param_bytes;
    uint32_t max_threads;  ///< Of a block, as promised to the compiler.
    void (*run)(const void* params);
};

/// Null where no linked kernel file has one of this name.
const Kernel* find_kernel(std::string_view name);

/// Kernel files make one for each kernel, before main().
struct KernelRegistration {
    explicit KernelRegistration(const Kernel& kernel);
};

struct GridSize {
    uint32_t x = 1, y = 1, z = 1;
    [[nodiscard]] uint64_t count() const { return uint64_t{x} * y * z; }
};

struct KernelLaunch {
    const Kernel* kernel = nullptr;
    std::vector<std::byte> params = {};  ///< [kernel->param_bytes]
    GridSize grid = {};
    uint32_t num_threads = 1;  ///< Of a block; blocks have one dimension.
    uint32_t shared_bytes = 0;
    bool is_cooperative = false;  ///< All blocks are alive at once.
    bool is_dependent = false;    ///< May begin before the launch in front of it has ended.
};

enum class Order { forward, reverse, random };

struct Schedule {
    Order order = Order::forward;
    uint64_t seed = 1;              ///< Of Order::random.
    bool has_eager_copies = false;  ///< Asynchronous copies happen at once, not when waited for.
};

struct RunReport {
    std::string error;  ///< Empty: all ran to its end and broke no rule.
    uint64_t num_switches = 0;
    [[nodiscard]] bool ok() const { return error.empty(); }
};

/// Threads that are alive at once, but for those of cooperative launches.
inline constexpr uint32_t kResidentThreads = 8192;
/// What a device grants at most.
inline constexpr uint32_t kMaxSharedBytes = 227 * 1024;
inline constexpr uint32_t kMaxBlockThreads = 1024;

/// What other devices do while threads of this one wait in a loop.
enum class Others {
    none,   ///< Nothing: there are none, or they have nothing to do.
    busy,   ///< They had a turn, in which something may have been written.
    failed  ///< What is waited for will not come.
};
using OthersTurn = Others (*)();
/// `turn` is called on the thread of run_launches(), and another thread's launches run meanwhile.
/// `max_threads`: that are alive at once, of each device: memory maps for stacks are few.
void set_others_turn(OthersTurn turn, uint32_t max_threads);

/// Runs launches in the order of one stream. Ends at the first broken rule.
///
/// Threads: calls of several threads take turns.
RunReport run_launches(std::span<const KernelLaunch> launches, const Schedule& schedule);

}  // namespace hokku::emulation
