// SPDX-License-Identifier: Apache-2.0
#include "emulation/fakes/fake_nccl.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "emulation/fakes/fake_state.h"
#include "emulation/runtime.h"

namespace hokku::emulation {

namespace {

using cuda::NcclComm;
using cuda::NcclOperation;
using cuda::NcclResult;
using cuda::NcclType;

uint32_t timeout_ms = 20000;
FakeNcclCalls call_options;
std::string misuse;

struct Part {
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
    size_t count = 0;
    NcclType type = NcclType::f32;
    NcclOperation operation = NcclOperation::sum;
    bool is_gather = false;
    bool has_arrived = false;
};

struct Collective {
    std::vector<Part> parts;
    uint32_t num_arrived = 0;
    bool is_done = false;
};

size_t bytes_of(NcclType type) {
    switch (type) {
        case NcclType::i8:
            return 1;
        case NcclType::f16:
        case NcclType::bf16:
            return 2;
        default:
            return 4;
    }
}

float read(const std::byte* elements, NcclType type, size_t i) {
    uint16_t half = 0;
    float value = 0;
    if (type == NcclType::f32) std::memcpy(&value, elements + 4 * i, 4);
    if (type == NcclType::f32) return value;
    std::memcpy(&half, elements + 2 * i, 2);
    if (type == NcclType::f16) return half_bits_to_float(half);
    return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}

void write(std::byte* elements, NcclType type, size_t i, float value) {
    if (type == NcclType::f32) std::memcpy(elements + 4 * i, &value, 4);
    if (type == NcclType::f32) return;
    const uint16_t half =
        type == NcclType::f16 ? float_to_half_bits(value) : float_to_bfloat_bits(value);
    std::memcpy(elements + 2 * i, &half, 2);
}

void reduce(Collective& collective) {
    const Part& first = collective.parts.front();
    std::vector<std::byte> result(first.count * bytes_of(first.type));
    for (size_t i = 0; i < first.count; ++i) {
        if (first.type == NcclType::i32) {
            int32_t sum = 0;
            for (const Part& part : collective.parts) {
                int32_t value = 0;
                std::memcpy(&value, part.send + 4 * i, 4);
                sum = first.operation == NcclOperation::sum || &part == &first
                          ? sum + value
                          : std::max(sum, value);
            }
            std::memcpy(result.data() + 4 * i, &sum, 4);
            continue;
        }
        float sum = read(first.send, first.type, i);
        for (size_t rank = 1; rank < collective.parts.size(); ++rank) {
            const float value = read(collective.parts[rank].send, first.type, i);
            sum = first.operation == NcclOperation::sum ? sum + value : std::max(sum, value);
        }
        write(result.data(), first.type, i, sum);
    }
    for (const Part& part : collective.parts) {
        std::memcpy(part.receive, result.data(), result.size());
    }
}

void gather(Collective& collective) {
    const size_t bytes = collective.parts.front().count * bytes_of(collective.parts.front().type);
    std::vector<std::byte> result(bytes * collective.parts.size());
    for (size_t rank = 0; rank < collective.parts.size(); ++rank) {
        std::memcpy(result.data() + rank * bytes, collective.parts[rank].send, bytes);
    }
    for (const Part& part : collective.parts) {
        std::memcpy(part.receive, result.data(), result.size());
    }
}

}  // namespace

/// The ranks of one communicator and the collectives that not all have come to.
struct FakeClique {
    uint32_t num_ranks = 0, num_ended = 0;
    std::map<size_t, uint32_t> sizes;  ///< Of calls, and how many ranks have made the first.
    std::map<uint64_t, Collective> collectives;
};

namespace {

struct FakeComm {
    std::shared_ptr<FakeClique> clique;
    uint32_t rank = 0;
    int32_t device = 0;
    uint64_t num_run = 0;  ///< Collectives whose turn has come.
    bool is_aborted = false;
    std::set<size_t> sizes;  ///< Of its calls.
    std::atomic<uint32_t> num_inside = 0;
};

/// While a thread is in a call.
class InsideCall {
  public:
    explicit InsideCall(FakeComm& comm) : comm_(comm) {
        if (comm_.num_inside++ == 0) return;
        const std::lock_guard lock(fake_state().mutex);
        misuse = "two threads are in calls of one communicator";
    }
    ~InsideCall() { --comm_.num_inside; }
    InsideCall(const InsideCall&) = delete;
    InsideCall& operator=(const InsideCall&) = delete;

  private:
    FakeComm& comm_;
};

DriverResult fail(FakeState& state, const std::string& what) {
    state.last_error = what;
    state.sticky = DriverResult::unknown;
    state.changed.notify_all();
    return state.sticky;
}

/// In the turn of one rank: waits for the others.
DriverResult run_part(FakeState& state, FakeComm& comm, Part part) {
    FakeClique& clique = *comm.clique;
    if (comm.is_aborted) return DriverResult::success;
    const uint64_t number = comm.num_run++;
    Collective& collective = clique.collectives[number];
    collective.parts.resize(clique.num_ranks);
    part.has_arrived = true;
    for (const Part& other : collective.parts) {
        if (other.has_arrived &&
            (other.count != part.count || other.type != part.type ||
             other.is_gather != part.is_gather || other.operation != part.operation)) {
            return fail(state, "ranks meet in different collectives");
        }
    }
    collective.parts[comm.rank] = part;
    if (++collective.num_arrived == clique.num_ranks) {
        part.is_gather ? gather(collective) : reduce(collective);
        collective.is_done = true;
        state.changed.notify_all();
        return DriverResult::success;
    }
    ++state.num_waiting_ranks;
    run_clique(state, clique);
    const auto is_over = [&] {
        return collective.is_done || comm.is_aborted || state.sticky != DriverResult::success;
    };
    const bool is_in_time =
        state.changed.wait_for(state.mutex, std::chrono::milliseconds(timeout_ms), is_over);
    --state.num_waiting_ranks;
    if (!is_in_time) {
        return fail(state, "rank " + std::to_string(comm.rank) +
                               " waits for others in collective " + std::to_string(number));
    }
    return collective.is_done || comm.is_aborted ? DriverResult::success : state.sticky;
}

/// On the host, as long as devices do not know the ways to each other.
void meet_first(FakeState& state, FakeComm& comm, const FakeStream& stream, size_t count) {
    if (!call_options.are_first_ones_met || !comm.sizes.insert(count).second) return;
    if (stream.capture != nullptr) misuse = "a captured call is the first of its size";
    uint32_t& num_here = comm.clique->sizes[count];
    ++num_here;
    state.changed.notify_all();
    state.changed.wait_for(state.mutex, std::chrono::milliseconds(timeout_ms),
                           [&] { return num_here >= comm.clique->num_ranks || comm.is_aborted; });
}

NcclResult issue_part(NcclComm handle, cuda::StreamHandle stream_handle, const Part& part) {
    FakeState& state = fake_state();
    auto* comm = reinterpret_cast<FakeComm*>(handle);
    if (comm == nullptr) return NcclResult::invalid_argument;
    const InsideCall inside(*comm);
    std::this_thread::sleep_for(std::chrono::milliseconds(call_options.call_ms));
    const std::lock_guard lock(state.mutex);
    const auto stream = find_stream(state, stream_handle);
    if (!stream || stream_handle == nullptr) return NcclResult::invalid_argument;
    if (stream->device != comm->device) return NcclResult::invalid_usage;
    meet_first(state, *comm, *stream, part.count);
    issue(state, *stream,
          {.run = [&state, comm, part] { return run_part(state, *comm, part); },
           .clique = comm->clique});
    return NcclResult::success;
}

/// The last one of all ranks waits for the graphs.
void end_comm(FakeState& state, FakeComm& comm) {
    if (comm.num_inside > 0) misuse = "a communicator ends while a thread is in a call of it";
    if (++comm.clique->num_ended < comm.clique->num_ranks) return;
    const auto has_no_graph = [&] {
        return std::none_of(state.graph_execs.begin(), state.graph_execs.end(),
                            [&](const auto& graph) { return graph.second->clique == comm.clique; });
    };
    if (!state.changed.wait_for(state.mutex, std::chrono::milliseconds(timeout_ms), has_no_graph))
        misuse = "communicators end while graphs hold their calls";
}

}  // namespace

void set_fake_nccl_timeout_ms(uint32_t ms) {
    timeout_ms = ms;
}

void set_fake_nccl_calls(const FakeNcclCalls& calls) {
    call_options = calls;
}

std::string take_fake_nccl_misuse() {
    const std::lock_guard lock(fake_state().mutex);
    return std::exchange(misuse, {});
}

namespace fake_nccl {
using namespace cuda;

NcclResult get_version(int32_t* version) {
    *version = 22800;
    return NcclResult::success;
}

NcclResult init_all(NcclComm* comms, int32_t num_devices, const int32_t* devices) {
    FakeState& state = fake_state();
    const std::lock_guard lock(state.mutex);
    if (num_devices <= 0 || num_devices > state.options.num_devices) {
        return NcclResult::invalid_argument;
    }
    auto clique = std::make_shared<FakeClique>();
    clique->num_ranks = static_cast<uint32_t>(num_devices);
    for (int32_t i = 0; i < num_devices; ++i) {
        const int32_t device = devices != nullptr ? devices[i] : i;
        auto* comm = new FakeComm;
        comm->clique = clique;
        comm->rank = static_cast<uint32_t>(i);
        comm->device = device;
        comms[i] = reinterpret_cast<NcclComm>(comm);
    }
    return NcclResult::success;
}

NcclResult destroy(NcclComm comm) {
    FakeState& state = fake_state();
    const std::lock_guard lock(state.mutex);
    drain_all(state);
    auto* own = reinterpret_cast<FakeComm*>(comm);
    end_comm(state, *own);
    delete own;
    return NcclResult::success;
}

/// Whoever waits goes on, with whatever there is.
NcclResult abort(NcclComm comm) {
    FakeState& state = fake_state();
    const std::lock_guard lock(state.mutex);
    auto* own = reinterpret_cast<FakeComm*>(comm);
    own->is_aborted = true;
    state.changed.notify_all();
    end_comm(state, *own);
    // What it has issued may come to its turn later.
    static std::vector<std::unique_ptr<FakeComm>> ended;
    ended.emplace_back(own);
    return NcclResult::success;
}

NcclResult all_reduce(const void* send, void* receive, size_t count, NcclType type,
                      NcclOperation operation, NcclComm comm, StreamHandle stream) {
    return issue_part(comm, stream,
                      {.send = static_cast<const std::byte*>(send),
                       .receive = static_cast<std::byte*>(receive),
                       .count = count,
                       .type = type,
                       .operation = operation});
}

NcclResult all_gather(const void* send, void* receive, size_t count, NcclType type, NcclComm comm,
                      StreamHandle stream) {
    return issue_part(comm, stream,
                      {.send = static_cast<const std::byte*>(send),
                       .receive = static_cast<std::byte*>(receive),
                       .count = count,
                       .type = type,
                       .is_gather = true});
}

NcclResult group_start() {
    return NcclResult::success;
}

NcclResult group_end() {
    return NcclResult::success;
}

}  // namespace fake_nccl

void* FakeNcclSymbols::find(const char* name) const {
    if (missing == name) return nullptr;
#define HOKKU_FIND(member, symbol, parameters) \
    if (std::strcmp(name, symbol) == 0) return reinterpret_cast<void*>(&fake_nccl::member);
    HOKKU_NCCL_FUNCTIONS(HOKKU_FIND)
#undef HOKKU_FIND
    return nullptr;
}

}  // namespace hokku::emulation
