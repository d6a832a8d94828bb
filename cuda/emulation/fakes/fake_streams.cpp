// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs, copies and launches of the fake driver. Nothing runs when it is issued,
// only when something waits for it: what is read without waiting is still the old.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "emulation/fakes/fake_state.h"

namespace hokku::emulation {

namespace {

std::byte* bytes_at(cuda::DevicePointer pointer) {
    return reinterpret_cast<std::byte*>(pointer);
}

/// The stream whose worker this thread is.
thread_local FakeStream* own_stream = nullptr;

DriverResult run_launches_of(FakeState& state, const std::vector<KernelLaunch>& launches) {
    state.counts.num_launches += launches.size();
    const RunReport report = run_launches(launches, state.options.schedule);
    if (report.ok()) return DriverResult::success;
    if (state.sticky != DriverResult::success) return state.sticky;  // Of what failed first.
    state.last_error = report.error;
    state.sticky = DriverResult::launch_failed;
    return state.sticky;
}

/// Breaks the captures that are going on: no stream may be waited for meanwhile.
DriverResult refuse_while_capturing(FakeState& state, FakeStream& stream) {
    if (!stream.capture) return DriverResult::success;
    stream.capture->is_broken = true;
    (void)state;
    return DriverResult::stream_capture_unsupported;
}

FakeEvent& event_of(cuda::EventHandle handle) {
    return *reinterpret_cast<FakeEvent*>(handle);
}

}  // namespace

bool is_allocated(const FakeState& state, uint64_t address, size_t bytes) {
    auto next = state.allocations.upper_bound(address);
    if (next == state.allocations.begin()) return false;
    --next;
    return address + bytes <= next->first + next->second.bytes;
}

namespace {

void run_worker(FakeState& state, FakeStream& stream);

/// Lets the stream's own thread do all that is in its queue.
void run_all_issued(FakeState& state, FakeStream& stream) {
    stream.num_wanted = std::max(stream.num_wanted, stream.num_issued);
    if (!stream.worker.joinable()) {
        stream.worker = std::thread([&state, &stream] { run_worker(state, stream); });
    }
    state.changed.notify_all();
}

}  // namespace

std::shared_ptr<FakeStream> find_stream(FakeState& state, cuda::StreamHandle handle) {
    if (handle == nullptr) {
        auto& stream = state.default_streams[fake_current_device()];
        if (!stream) stream = std::make_shared<FakeStream>();
        stream->device = fake_current_device();
        return stream;
    }
    const auto found = state.streams.find(reinterpret_cast<FakeStream*>(handle));
    return found == state.streams.end() ? nullptr : found->second;
}

bool is_capturing(FakeState& state, int32_t device) {
    return std::any_of(state.streams.begin(), state.streams.end(), [&](const auto& s) {
        return s.second->device == device && s.second->capture != nullptr;
    });
}

DriverResult issue(FakeState& state, FakeStream& stream, FakeOperation operation) {
    if (stream.capture) {
        if (operation.clique) stream.capture->graph.clique = operation.clique;
        stream.capture->graph.operations.push_back(std::move(operation));
        stream.is_unjoined = stream.capture->origin != &stream;
        return DriverResult::success;
    }
    if (operation.clique) stream.clique = operation.clique;
    stream.queue.push_back(std::move(operation));
    ++stream.num_issued;
    // Other ranks are waiting for what this one does.
    if (stream.clique && state.num_waiting_ranks > 0) run_clique(state, *stream.clique);
    if (state.num_waiting_kernels > 0 && stream.has_worker) run_all_issued(state, stream);
    return DriverResult::success;
}

DriverResult run_operations(FakeState& state, std::vector<FakeOperation*> operations) {
    std::vector<KernelLaunch> launches;
    DriverResult result = DriverResult::success;
    const auto flush = [&] {
        if (!launches.empty() && result == DriverResult::success) {
            result = run_launches_of(state, launches);
        }
        launches.clear();
    };
    for (FakeOperation* operation : operations) {
        if (operation->launch) {
            // A launch that may overlap with the one in front runs together with it.
            if (!operation->launch->is_dependent) flush();
            launches.push_back(*operation->launch);
            continue;
        }
        flush();
        if (result == DriverResult::success) result = operation->run();
    }
    flush();
    return result;
}

namespace {

/// Takes the stream's next operation and the launches that may overlap with it.
std::deque<FakeOperation> take_operations(FakeStream& stream, uint64_t most) {
    std::deque<FakeOperation> taken;
    while (!stream.queue.empty() && taken.size() < most) {
        taken.push_back(std::move(stream.queue.front()));
        stream.queue.pop_front();
    }
    return taken;
}

DriverResult run_taken(FakeState& state, std::deque<FakeOperation>& taken) {
    std::vector<FakeOperation*> operations;
    for (FakeOperation& operation : taken) operations.push_back(&operation);
    return run_operations(state, operations);
}

bool is_dependent(const FakeOperation& operation) {
    return operation.launch && operation.launch->is_dependent;
}

void run_worker(FakeState& state, FakeStream& stream) {
    const std::lock_guard lock(state.mutex);
    fake_current_device() = stream.device;
    own_stream = &stream;
    while (true) {
        state.changed.wait(state.mutex, [&] {
            return stream.is_ending ||
                   (!stream.queue.empty() && stream.num_done < stream.num_wanted);
        });
        if (stream.is_ending) return;
        uint64_t count = 1;
        while (count < stream.queue.size() && is_dependent(stream.queue[count])) ++count;
        std::deque<FakeOperation> taken = take_operations(stream, count);
        if (state.sticky == DriverResult::success) run_taken(state, taken);
        stream.num_done += taken.size();
        state.changed.notify_all();
    }
}

/// Lets the stream's own thread do it, and waits.
DriverResult drain_by_worker(FakeState& state, FakeStream& stream, uint64_t num_done) {
    if (!stream.worker.joinable()) {
        stream.worker = std::thread([&state, &stream] { run_worker(state, stream); });
    }
    stream.num_wanted = std::max(stream.num_wanted, num_done);
    state.changed.notify_all();
    state.changed.wait(state.mutex, [&] {
        return stream.num_done >= num_done || state.sticky != DriverResult::success;
    });
    return state.sticky;
}

}  // namespace

void run_clique(FakeState& state, const FakeClique& clique) {
    for (auto& [key, stream] : state.streams) {
        if (stream->clique.get() != &clique) continue;
        run_all_issued(state, *stream);
    }
}

/// The state stays unlocked for a moment, whatever the others do: they may wait for this device.
Others take_others_turn() {
    FakeState& state = fake_state();
    if (own_stream == nullptr) return Others::none;
    bool is_any_busy = false;
    for (auto& [key, stream] : state.streams) {
        if (stream.get() == own_stream) continue;
        if (stream->has_worker && stream->num_done < stream->num_issued) {
            run_all_issued(state, *stream);
        }
        is_any_busy |= stream->has_worker;
    }
    if (!is_any_busy) return Others::none;
    ++state.num_waiting_kernels;
    state.changed.notify_all();
    state.changed.wait_for(state.mutex, std::chrono::milliseconds(1));
    --state.num_waiting_kernels;
    const bool has_failed = state.sticky != DriverResult::success || own_stream->is_ending;
    return has_failed ? Others::failed : Others::busy;
}

void end_worker(FakeState& state, FakeStream& stream) {
    if (!stream.worker.joinable()) return;
    stream.is_ending = true;
    state.changed.notify_all();
    state.mutex.unlock();
    stream.worker.join();
    state.mutex.lock();
}

DriverResult drain(FakeState& state, FakeStream& stream, uint64_t num_done) {
    if (state.sticky != DriverResult::success) return state.sticky;
    if (stream.num_done >= num_done) return DriverResult::success;
    if (stream.clique || stream.has_worker) return drain_by_worker(state, stream, num_done);
    std::deque<FakeOperation> taken = take_operations(stream, num_done - stream.num_done);
    stream.num_done += taken.size();
    return run_taken(state, taken);
}

std::vector<std::shared_ptr<FakeStream>> all_streams(const FakeState& state) {
    std::vector<std::shared_ptr<FakeStream>> all;
    for (const auto& [key, stream] : state.default_streams) all.push_back(stream);
    for (const auto& [key, stream] : state.streams) all.push_back(stream);
    return all;
}

DriverResult drain_all(FakeState& state) {
    DriverResult result = DriverResult::success;
    for (const auto& stream : all_streams(state)) {
        if (stream->device != fake_current_device()) continue;
        const DriverResult one = drain(state, *stream, stream->num_issued);
        if (result == DriverResult::success) result = one;
    }
    return result;
}

namespace fake {

DriverResult context_synchronize() {
    HOKKU_FAKE_CALL("cuCtxSynchronize", context)
    ++call.state().counts.num_synchronizations;
    if (is_capturing(call.state(), call.device())) return DriverResult::stream_capture_unsupported;
    return drain_all(call.state());
}

DriverResult copy_to_device(DevicePointer to, const void* from, size_t bytes) {
    HOKKU_FAKE_CALL("cuMemcpyHtoD_v2", context)
    FakeState& state = call.state();
    if (!is_allocated(state, to, bytes)) return DriverResult::invalid_value;
    FakeStream& stream = *find_stream(state, nullptr);
    const DriverResult result = drain(state, stream, stream.num_issued);
    ++state.counts.num_synchronizations;
    state.counts.bytes_to_device += bytes;
    std::memcpy(bytes_at(to), from, bytes);
    return result;
}

DriverResult copy_to_host(void* to, DevicePointer from, size_t bytes) {
    HOKKU_FAKE_CALL("cuMemcpyDtoH_v2", context)
    FakeState& state = call.state();
    if (!is_allocated(state, from, bytes)) return DriverResult::invalid_value;
    FakeStream& stream = *find_stream(state, nullptr);
    const DriverResult result = drain(state, stream, stream.num_issued);
    ++state.counts.num_synchronizations;
    state.counts.bytes_to_host += bytes;
    std::memcpy(to, bytes_at(from), bytes);
    return result;
}

DriverResult copy_to_device_async(DevicePointer to, const void* from, size_t bytes,
                                  StreamHandle handle) {
    HOKKU_FAKE_CALL("cuMemcpyHtoDAsync_v2", context)
    FakeState& state = call.state();
    const auto stream = find_stream(state, handle);
    if (!stream) return DriverResult::invalid_handle;
    if (!is_allocated(state, to, bytes)) return DriverResult::invalid_value;
    if (!is_allocated(state, reinterpret_cast<uint64_t>(from), bytes)) {
        ++state.counts.num_pageable_copies;
    }
    return issue(state, *stream, {.run = [&state, to, from, bytes] {
                     state.counts.bytes_to_device += bytes;
                     std::memcpy(bytes_at(to), from, bytes);
                     return DriverResult::success;
                 }});
}

DriverResult copy_to_host_async(void* to, DevicePointer from, size_t bytes, StreamHandle handle) {
    HOKKU_FAKE_CALL("cuMemcpyDtoHAsync_v2", context)
    FakeState& state = call.state();
    const auto stream = find_stream(state, handle);
    if (!stream) return DriverResult::invalid_handle;
    if (!is_allocated(state, from, bytes)) return DriverResult::invalid_value;
    if (!is_allocated(state, reinterpret_cast<uint64_t>(to), bytes)) {
        ++state.counts.num_pageable_copies;
    }
    return issue(state, *stream, {.run = [&state, to, from, bytes] {
                     state.counts.bytes_to_host += bytes;
                     std::memcpy(to, bytes_at(from), bytes);
                     return DriverResult::success;
                 }});
}

DriverResult copy_on_device_async(DevicePointer to, DevicePointer from, size_t bytes,
                                  StreamHandle handle) {
    HOKKU_FAKE_CALL("cuMemcpyDtoDAsync_v2", context)
    FakeState& state = call.state();
    const auto stream = find_stream(state, handle);
    if (!stream) return DriverResult::invalid_handle;
    if (!is_allocated(state, from, bytes) || !is_allocated(state, to, bytes)) {
        return DriverResult::invalid_value;
    }
    return issue(state, *stream, {.run = [to, from, bytes] {
                     std::memmove(bytes_at(to), bytes_at(from), bytes);
                     return DriverResult::success;
                 }});
}

DriverResult fill_bytes_async(DevicePointer to, uint8_t value, size_t bytes, StreamHandle handle) {
    HOKKU_FAKE_CALL("cuMemsetD8Async", context)
    const auto stream = find_stream(call.state(), handle);
    if (!stream) return DriverResult::invalid_handle;
    if (!is_allocated(call.state(), to, bytes)) return DriverResult::invalid_value;
    return issue(call.state(), *stream, {.run = [to, value, bytes] {
                     std::memset(bytes_at(to), value, bytes);
                     return DriverResult::success;
                 }});
}

DriverResult launch(const LaunchConfig* config, FunctionHandle handle, void** params, void**) {
    HOKKU_FAKE_CALL("cuLaunchKernelEx", context)
    FakeState& state = call.state();
    const auto& function = *reinterpret_cast<const FakeFunction*>(handle);
    const auto stream = find_stream(state, config->stream);
    if (!stream) return DriverResult::invalid_handle;
    if (config->block_y != 1 || config->block_z != 1 || config->block_x == 0) {
        return DriverResult::invalid_value;
    }
    if (config->block_x > function.kernel->max_threads) {
        return DriverResult::launch_out_of_resources;
    }
    if (config->shared_bytes > static_cast<uint32_t>(function.max_dynamic_shared_bytes)) {
        return DriverResult::invalid_value;
    }
    KernelLaunch launch{.kernel = function.kernel,
                        .grid = {config->grid_x, config->grid_y, config->grid_z},
                        .num_threads = config->block_x,
                        .shared_bytes = config->shared_bytes};
    for (uint32_t i = 0; i < config->num_attributes; ++i) {
        const LaunchAttribute& attribute = config->attributes[i];
        const bool is_set = attribute.value.flag != 0;
        if (attribute.id == LaunchAttributeId::cooperative) launch.is_cooperative = is_set;
        if (attribute.id == LaunchAttributeId::programmatic_serialization) {
            if (state.options.compute_major < 9) return DriverResult::invalid_value;
            // A device takes it, but such kernels do not wait: the results would be wrong.
            if (is_set && state.options.ptx_version != 0 && state.options.ptx_version < 90) {
                return DriverResult::invalid_value;
            }
            launch.is_dependent = is_set;
        }
    }
    if (launch.grid.count() == 0) return DriverResult::invalid_value;
    if (launch.is_cooperative) {
        int32_t blocks = 0;
        max_active_blocks(&blocks, handle, static_cast<int32_t>(config->block_x),
                          config->shared_bytes);
        const auto resident = static_cast<uint64_t>(blocks * state.options.num_multiprocessors);
        if (launch.grid.count() > resident) return DriverResult::cooperative_launch_too_large;
    }
    const auto* bytes = static_cast<const std::byte*>(params[0]);
    launch.params.assign(bytes, bytes + function.kernel->param_bytes);
    return issue(state, *stream, {.launch = std::move(launch)});
}

DriverResult stream_create(StreamHandle* handle, uint32_t) {
    HOKKU_FAKE_CALL("cuStreamCreate", context)
    auto stream = std::make_shared<FakeStream>();
    stream->device = call.device();
    stream->has_worker = call.state().options.num_devices > 1;
    *handle = reinterpret_cast<StreamHandle>(stream.get());
    call.state().streams[stream.get()] = stream;
    return DriverResult::success;
}

DriverResult stream_destroy(StreamHandle handle) {
    HOKKU_FAKE_CALL("cuStreamDestroy_v2", context)
    const auto stream = find_stream(call.state(), handle);
    if (!stream || handle == nullptr) return DriverResult::invalid_handle;
    const DriverResult result = drain(call.state(), *stream, stream->num_issued);
    end_worker(call.state(), *stream);
    call.state().streams.erase(stream.get());
    return result;
}

DriverResult stream_synchronize(StreamHandle handle) {
    HOKKU_FAKE_CALL("cuStreamSynchronize", context)
    ++call.state().counts.num_synchronizations;
    const auto stream = find_stream(call.state(), handle);
    if (!stream) return DriverResult::invalid_handle;
    const DriverResult refused = refuse_while_capturing(call.state(), *stream);
    if (refused != DriverResult::success) return refused;
    return drain(call.state(), *stream, stream->num_issued);
}

DriverResult stream_wait_event(StreamHandle handle, EventHandle event_handle, uint32_t) {
    HOKKU_FAKE_CALL("cuStreamWaitEvent", context)
    FakeState& state = call.state();
    const auto stream = find_stream(state, handle);
    if (!stream) return DriverResult::invalid_handle;
    const FakeEvent& event = event_of(event_handle);
    if (event.capture) {  // The stream joins that capture; graphs keep the order of issue.
        if (stream->capture && stream->capture != event.capture) {
            return DriverResult::stream_capture_invalidated;
        }
        stream->capture = event.capture;
        if (stream.get() == event.capture->origin) event.stream->is_unjoined = false;
        return DriverResult::success;
    }
    if (stream->capture || !event.stream) return DriverResult::success;
    return issue(state, *stream, {.run = [&state, other = event.stream, ticket = event.ticket] {
                     return drain(state, *other, ticket);
                 }});
}

DriverResult stream_begin_capture(StreamHandle handle, CaptureMode) {
    HOKKU_FAKE_CALL("cuStreamBeginCapture_v2", context)
    const auto stream = find_stream(call.state(), handle);
    if (!stream || handle == nullptr) return DriverResult::stream_capture_unsupported;
    if (stream->capture) return DriverResult::invalid_value;
    stream->capture = std::make_shared<FakeCapture>();
    stream->capture->origin = stream.get();
    return DriverResult::success;
}

DriverResult stream_end_capture(StreamHandle handle, GraphHandle* graph) {
    HOKKU_FAKE_CALL("cuStreamEndCapture", context)
    FakeState& state = call.state();
    const auto stream = find_stream(state, handle);
    if (!stream || !stream->capture) return DriverResult::invalid_value;
    const std::shared_ptr<FakeCapture> capture = stream->capture;
    bool is_unjoined = false;
    for (auto& [key, other] : state.streams) {
        if (other->capture != capture) continue;
        is_unjoined |= other->is_unjoined;
        other->capture = nullptr;
        other->is_unjoined = false;
    }
    *graph = nullptr;
    if (capture->is_broken) return DriverResult::stream_capture_invalidated;
    if (is_unjoined) return DriverResult::stream_capture_unjoined;
    *graph = reinterpret_cast<GraphHandle>(new FakeGraph(std::move(capture->graph)));
    return DriverResult::success;
}

DriverResult event_create(EventHandle* event, uint32_t) {
    HOKKU_FAKE_CALL("cuEventCreate", context)
    *event = reinterpret_cast<EventHandle>(new FakeEvent);
    return DriverResult::success;
}

DriverResult event_destroy(EventHandle event) {
    HOKKU_FAKE_CALL("cuEventDestroy_v2", context)
    delete reinterpret_cast<FakeEvent*>(event);
    return DriverResult::success;
}

DriverResult event_record(EventHandle handle, StreamHandle stream_handle) {
    HOKKU_FAKE_CALL("cuEventRecord", context)
    const auto stream = find_stream(call.state(), stream_handle);
    if (!stream) return DriverResult::invalid_handle;
    FakeEvent& event = event_of(handle);
    event.stream = stream;
    event.capture = stream->capture;
    event.ticket = stream->num_issued;
    return DriverResult::success;
}

/// Does one more operation of the stream, so that a loop that asks comes to an end.
DriverResult event_query(EventHandle handle) {
    HOKKU_FAKE_CALL("cuEventQuery", context)
    FakeEvent& event = event_of(handle);
    if (!event.stream || event.stream->num_done >= event.ticket) return DriverResult::success;
    const DriverResult result = drain(call.state(), *event.stream, event.stream->num_done + 1);
    if (result != DriverResult::success) return result;
    return event.stream->num_done >= event.ticket ? DriverResult::success : DriverResult::not_ready;
}

DriverResult event_synchronize(EventHandle handle) {
    HOKKU_FAKE_CALL("cuEventSynchronize", context)
    ++call.state().counts.num_synchronizations;
    FakeEvent& event = event_of(handle);
    if (!event.stream) return DriverResult::success;
    return drain(call.state(), *event.stream, event.ticket);
}

DriverResult event_elapsed(float* ms, EventHandle, EventHandle) {
    HOKKU_FAKE_CALL("cuEventElapsedTime", context)
    *ms = 1.0f;  // Nothing is to be learnt from an emulator's time.
    return DriverResult::success;
}

DriverResult graph_instantiate(GraphExecHandle* exec, GraphHandle graph, uint64_t) {
    HOKKU_FAKE_CALL("cuGraphInstantiateWithFlags", context)
    auto made = std::make_unique<FakeGraph>(*reinterpret_cast<FakeGraph*>(graph));
    made->device = call.device();
    *exec = reinterpret_cast<GraphExecHandle>(made.get());
    call.state().graph_execs.emplace(made.get(), std::move(made));
    return DriverResult::success;
}

DriverResult graph_launch(GraphExecHandle exec, StreamHandle handle) {
    HOKKU_FAKE_CALL("cuGraphLaunch", context)
    FakeState& state = call.state();
    const auto stream = find_stream(state, handle);
    if (!stream) return DriverResult::invalid_handle;
    ++state.counts.num_graph_launches;
    auto* graph = reinterpret_cast<FakeGraph*>(exec);
    if (state.graph_execs.count(graph) == 0) return DriverResult::invalid_handle;
    const auto run = [&state, graph] {
        std::vector<FakeOperation*> operations;
        for (FakeOperation& o : graph->operations) operations.push_back(&o);
        return run_operations(state, operations);
    };
    return issue(state, *stream, {.run = run, .clique = graph->clique});
}

DriverResult graph_destroy(GraphHandle graph) {
    HOKKU_FAKE_CALL("cuGraphDestroy", context)
    delete reinterpret_cast<FakeGraph*>(graph);
    return DriverResult::success;
}

DriverResult graph_exec_destroy(GraphExecHandle exec) {
    HOKKU_FAKE_CALL("cuGraphExecDestroy", init)  // Of a lost device, too.
    const DriverResult result = drain_all(call.state());
    call.state().changed.notify_all();
    if (call.state().graph_execs.erase(reinterpret_cast<FakeGraph*>(exec)) == 0)
        return DriverResult::invalid_handle;
    return result;
}

}  // namespace fake
}  // namespace hokku::emulation
