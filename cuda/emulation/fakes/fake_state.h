// SPDX-License-Identifier: Apache-2.0
// What the fake driver's functions share: devices, memory, streams, and the bookkeeping at the
// beginning of every call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "emulation/fakes/fake_driver.h"

namespace hokku::emulation {

using cuda::DriverResult;

struct FakeStream;
struct FakeGraph;
struct FakeClique;  // Ranks that meet in collectives: fake_nccl.cpp.

/// A kernel launch or anything else that a stream does in its turn.
struct FakeOperation {
    std::optional<KernelLaunch> launch = {};
    std::function<DriverResult()> run = {};
    std::shared_ptr<FakeClique> clique = {};  ///< Of a collective, or of a graph with one.
};

struct FakeGraph {
    std::vector<FakeOperation> operations;  ///< In the order of capture.
    std::shared_ptr<FakeClique> clique;
    int32_t device = 0;  ///< Of one that can be launched.
};

struct FakeCapture {
    FakeGraph graph;
    FakeStream* origin = nullptr;
    bool is_broken = false;  ///< By a call that must not be captured.
};

struct FakeStream {
    int32_t device = 0;
    std::deque<FakeOperation> queue;
    uint64_t num_issued = 0, num_done = 0;  ///< Operations; what is in work is in no queue.
    std::shared_ptr<FakeCapture> capture;
    bool is_unjoined = false;  ///< Has captured work that the origin does not wait for.
    /// A stream with collectives runs on a thread of its own, which waits where its rank must.
    std::shared_ptr<FakeClique> clique;
    bool has_worker = false;  ///< The same where there are several devices: kernels may wait, too.
    std::thread worker;
    uint64_t num_wanted = 0;  ///< The worker goes on until as many are done.
    bool is_ending = false;
};

struct FakeEvent {
    std::shared_ptr<FakeStream> stream;  ///< Null: never recorded.
    uint64_t ticket = 0;                 ///< Done when the stream has done as many.
    std::shared_ptr<FakeCapture> capture;
};

struct FakeAllocation {
    std::byte* memory = nullptr;  ///< Guard, bytes, guard.
    size_t bytes = 0;
    int32_t device = 0;
    bool is_pinned_host = false;
};

struct FakeFunction {
    const Kernel* kernel = nullptr;
    int32_t max_dynamic_shared_bytes = 48 * 1024;
};

struct FakeState {
    FakeDriverOptions options;
    FakeDriverCounts counts;
    bool is_initialized = false;
    DriverResult sticky = DriverResult::success;
    std::set<int32_t> lost_devices;
    uint64_t fail_number = 0;
    DriverResult fail_result = DriverResult::success;
    std::string failed_call, last_error;
    std::map<uint64_t, FakeAllocation> allocations;  ///< By the address that was handed out.
    std::map<FakeStream*, std::shared_ptr<FakeStream>> streams;
    std::map<int32_t, std::shared_ptr<FakeStream>> default_streams;  ///< By device.
    std::vector<std::unique_ptr<FakeFunction>> functions;
    std::map<FakeGraph*, std::unique_ptr<FakeGraph>> graph_execs;  ///< They go with their context.
    uint32_t num_waiting_ranks = 0;
    uint32_t num_waiting_kernels = 0;  ///< For other devices: all that is issued runs at once.
    std::recursive_mutex mutex;
    std::condition_variable_any changed;  ///< Something was issued or done.
};

FakeState& fake_state();

/// Locks the state, counts the call and finds out whether it fails.
class FakeCall {
  public:
    enum class Needs { nothing, init, context };
    FakeCall(const char* name, Needs needs);
    /// Set where the call must not go on.
    [[nodiscard]] std::optional<DriverResult> failure() const { return failure_; }
    FakeState& state() { return state_; }
    [[nodiscard]] int32_t device() const;

  private:
    FakeState& state_;
    std::lock_guard<std::recursive_mutex> lock_;
    std::optional<DriverResult> failure_;
};

#define HOKKU_FAKE_CALL(name, needs)             \
    FakeCall call(name, FakeCall::Needs::needs); \
    if (const auto failure = call.failure()) return *failure;

/// Device of this thread's current context; -1: none.
int32_t& fake_current_device();

std::shared_ptr<FakeStream> find_stream(FakeState& state, cuda::StreamHandle handle);
/// Puts the operation into the stream's queue, or into the graph that it is captured to.
DriverResult issue(FakeState& state, FakeStream& stream, FakeOperation operation);
/// Runs a stream's operations until as many are done.
DriverResult drain(FakeState& state, FakeStream& stream, uint64_t num_done);
/// All streams of the current device.
DriverResult drain_all(FakeState& state);
/// To go over them while the state may be unlocked.
std::vector<std::shared_ptr<FakeStream>> all_streams(const FakeState& state);
DriverResult run_operations(FakeState& state, std::vector<FakeOperation*> operations);
/// Frees device memory; false where the address is not the beginning of any.
bool release_allocation(FakeState& state, uint64_t address);
/// Whether [address, address + bytes) lies inside one allocation.
bool is_allocated(const FakeState& state, uint64_t address, size_t bytes);
/// Whether a stream of the device captures: for calls that must not happen meanwhile.
bool is_capturing(FakeState& state, int32_t device);
/// Lets all streams of these ranks run.
void run_clique(FakeState& state, const FakeClique& clique);
/// For kernels that wait in loops: lets the streams of other devices run for a moment.
Others take_others_turn();
/// Ends the stream's thread, if it has one. The state is unlocked meanwhile.
void end_worker(FakeState& state, FakeStream& stream);

namespace fake {
using namespace cuda;
#define HOKKU_DECLARE(member, name, parameters) DriverResult HOKKU_DRIVER_CALL member parameters;
HOKKU_DRIVER_FUNCTIONS(HOKKU_DECLARE)
#undef HOKKU_DECLARE
}  // namespace fake

}  // namespace hokku::emulation
