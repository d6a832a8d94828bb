// SPDX-License-Identifier: Apache-2.0
// The in-memory NCCL: collectives between devices, driven by one thread or by one for each rank,
// in streams and in graphs, and what happens where ranks do not meet.
#include <numeric>
#include <thread>
#include <vector>

#include "driver/driver_api.h"
#include "driver/nccl_api.h"
#include "emulation/fakes/fake_driver.h"
#include "emulation/fakes/fake_nccl.h"
#include "kernels/primitive_kernels.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cuda;
using namespace hokku::emulation;

namespace {

constexpr size_t kCount = 64;

struct Rank {
    ContextHandle context = nullptr;
    StreamHandle stream = nullptr;
    NcclComm comm = nullptr;
    FunctionHandle chain = nullptr;
    DevicePointer a = 0, b = 0;
};

/// Devices of the fake driver, each with a stream, a communicator and two buffers.
struct Ranks {
    explicit Ranks(int32_t num_ranks) {
        FakeDriver::reset({.num_devices = num_ranks});
        auto driver_table = load_driver_api(FakeDriverSymbols{});
        auto nccl_table = load_nccl_api(FakeNcclSymbols{});
        REQUIRE(driver_table.ok());
        REQUIRE(nccl_table.ok());
        api = *driver_table;
        nccl = *nccl_table;
        REQUIRE(api.init(0) == DriverResult::success);
        std::vector<NcclComm> comms(static_cast<size_t>(num_ranks));
        REQUIRE(nccl.init_all(comms.data(), num_ranks, nullptr) == NcclResult::success);
        ranks.resize(comms.size());
        for (int32_t i = 0; i < num_ranks; ++i) {
            Rank& rank = ranks[static_cast<size_t>(i)];
            rank.comm = comms[static_cast<size_t>(i)];
            api.context_retain(&rank.context, i);
            api.context_set_current(rank.context);
            ModuleHandle module = nullptr;
            api.module_load(&module, kEmulatedImage);
            api.module_function(&rank.chain, module, "primitive_chain");
            api.stream_create(&rank.stream, kStreamNonBlocking);
            REQUIRE(api.memory_alloc(&rank.a, kCount * 4) == DriverResult::success);
            REQUIRE(api.memory_alloc(&rank.b, kCount * 4 * ranks.size()) == DriverResult::success);
        }
    }
    /// Aborts: in some tests ranks still wait for each other.
    ~Ranks() {
        FakeDriver::reset();
        for (const Rank& rank : ranks) nccl.abort(rank.comm);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;
    void use(const Rank& rank) const {
        REQUIRE(api.context_set_current(rank.context) == DriverResult::success);
    }
    void write(const Rank& rank, const std::vector<float>& values) const {
        use(rank);
        REQUIRE(api.copy_to_device(rank.a, values.data(), values.size() * 4) ==
                DriverResult::success);
    }
    [[nodiscard]] std::vector<float> read(const Rank& rank, DevicePointer from, size_t n) const {
        use(rank);
        std::vector<float> values(n);
        REQUIRE(api.copy_to_host(values.data(), from, n * 4) == DriverResult::success);
        return values;
    }
    /// a = sum of all ranks' a; enqueued.
    NcclResult all_reduce(const Rank& rank, NcclOperation operation = NcclOperation::sum,
                          size_t count = kCount) const {
        auto* a = reinterpret_cast<void*>(rank.a);
        return nccl.all_reduce(a, a, count, NcclType::f32, operation, rank.comm, rank.stream);
    }
    /// to[i] = from[i ^ 1] + 1
    DriverResult launch_chain(const Rank& rank, DevicePointer from, DevicePointer to) const {
        FloatsParams params{reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), 64,
                            0, nullptr};
        const LaunchConfig config{1, 1, 1, 64, 1, 1, 0, rank.stream, nullptr, 0};
        void* pointers[] = {&params};
        return api.launch(&config, rank.chain, pointers, nullptr);
    }
    DriverApi api;
    NcclApi nccl;
    std::vector<Rank> ranks;
};

std::vector<float> values_of(size_t rank) {
    std::vector<float> values(kCount);
    std::iota(values.begin(), values.end(), 100.0f * static_cast<float>(rank + 1));
    return values;
}

}  // namespace

TEST_CASE("Fake NCCL: sums, maxima and gathers of several devices by one thread", "[cuda][quick]") {
    for (const int32_t num_ranks : {1, 2, 3, 8}) {
        const Ranks r(num_ranks);
        const auto n = static_cast<float>(num_ranks);
        for (const NcclOperation operation : {NcclOperation::sum, NcclOperation::max}) {
            for (size_t i = 0; i < r.ranks.size(); ++i) r.write(r.ranks[i], values_of(i));
            for (const Rank& rank : r.ranks) {
                CHECK(r.all_reduce(rank, operation) == NcclResult::success);
            }
            for (const Rank& rank : r.ranks) {
                r.use(rank);
                CHECK(r.api.stream_synchronize(rank.stream) == DriverResult::success);
                const std::vector<float> got = r.read(rank, rank.a, kCount);
                for (size_t i = 0; i < kCount; ++i) {
                    const auto at = static_cast<float>(i);
                    CHECK(got[i] == (operation == NcclOperation::sum ? 50.0f * n * (n + 1) + n * at
                                                                     : 100.0f * n + at));
                }
            }
        }
        for (size_t i = 0; i < r.ranks.size(); ++i) r.write(r.ranks[i], values_of(i));
        for (const Rank& rank : r.ranks) {
            CHECK(r.nccl.all_gather(reinterpret_cast<void*>(rank.a),
                                    reinterpret_cast<void*>(rank.b), kCount, NcclType::f32,
                                    rank.comm, rank.stream) == NcclResult::success);
        }
        for (const Rank& rank : r.ranks) {
            r.use(rank);
            CHECK(r.api.stream_synchronize(rank.stream) == DriverResult::success);
            const std::vector<float> got = r.read(rank, rank.b, kCount * r.ranks.size());
            for (size_t i = 0; i < got.size(); ++i) {
                CHECK(got[i] == values_of(i / kCount)[i % kCount]);
            }
        }
    }
}

TEST_CASE("Fake NCCL: kernels and collectives of ranks that have threads of their own",
          "[cuda][quick]") {
    const Ranks r(4);
    for (size_t i = 0; i < 4; ++i) r.write(r.ranks[i], values_of(i));
    std::vector<std::thread> threads;
    std::vector<DriverResult> results(4, DriverResult::unknown);
    for (size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            const Rank& rank = r.ranks[i];
            r.api.context_set_current(rank.context);
            for (int step = 0; step < 3; ++step) {
                r.launch_chain(rank, rank.a, rank.b);
                r.launch_chain(rank, rank.b, rank.a);
                r.all_reduce(rank);
                results[i] = r.api.stream_synchronize(rank.stream);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    // a = 4 (a + 2) summed over ranks: each step adds 2 to every rank's, then sums.
    std::vector<double> expected(kCount);
    for (size_t i = 0; i < kCount; ++i) expected[i] = 1000.0 + 4.0 * static_cast<double>(i) + 8;
    for (int step = 1; step < 3; ++step) {
        for (double& value : expected) value = 4 * (value + 2);
    }
    for (size_t i = 0; i < 4; ++i) {
        CHECK(results[i] == DriverResult::success);
        const std::vector<float> got = r.read(r.ranks[i], r.ranks[i].a, kCount);
        for (size_t j = 0; j < kCount; ++j) CHECK(double{got[j]} == expected[j]);
    }
}

TEST_CASE("Fake NCCL: graphs with collectives replay on all ranks", "[cuda][quick]") {
    const Ranks r(3);
    std::vector<GraphExecHandle> execs(3);
    for (size_t i = 0; i < 3; ++i) {
        const Rank& rank = r.ranks[i];
        r.write(rank, values_of(i));
        GraphHandle graph = nullptr;
        CHECK(r.api.stream_begin_capture(rank.stream, CaptureMode::relaxed) ==
              DriverResult::success);
        for (int layer = 0; layer < 2; ++layer) {
            CHECK(r.launch_chain(rank, rank.a, rank.b) == DriverResult::success);
            CHECK(r.launch_chain(rank, rank.b, rank.a) == DriverResult::success);
            CHECK(r.all_reduce(rank) == NcclResult::success);
        }
        CHECK(r.api.stream_end_capture(rank.stream, &graph) == DriverResult::success);
        CHECK(r.api.graph_instantiate(&execs[i], graph, 0) == DriverResult::success);
        r.api.graph_destroy(graph);
    }
    for (int replay = 0; replay < 2; ++replay) {
        for (size_t i = 0; i < 3; ++i) {
            CHECK(r.api.graph_launch(execs[i], r.ranks[i].stream) == DriverResult::success);
        }
    }
    std::vector<double> expected(kCount);
    for (size_t i = 0; i < kCount; ++i) expected[i] = 600.0 + 3.0 * static_cast<double>(i) + 6;
    for (int layer = 1; layer < 4; ++layer) {
        for (double& value : expected) value = 3 * (value + 2);
    }
    for (size_t i = 0; i < 3; ++i) {
        r.use(r.ranks[i]);
        CHECK(r.api.stream_synchronize(r.ranks[i].stream) == DriverResult::success);
        const std::vector<float> got = r.read(r.ranks[i], r.ranks[i].a, kCount);
        for (size_t j = 0; j < kCount; ++j) CHECK(double{got[j]} == expected[j]);
    }
    for (const GraphExecHandle exec : execs)
        CHECK(r.api.graph_exec_destroy(exec) == DriverResult::success);
}

TEST_CASE("Fake NCCL: a rank that never comes, and ranks that meet in different calls, are errors",
          "[cuda][quick]") {
    set_fake_nccl_timeout_ms(50);
    {
        const Ranks r(2);
        CHECK(r.all_reduce(r.ranks[0]) == NcclResult::success);
        r.use(r.ranks[0]);
        CHECK(r.api.stream_synchronize(r.ranks[0].stream) == DriverResult::unknown);
        CHECK(FakeDriver::last_error() == "rank 0 waits for others in collective 0");
    }
    {
        const Ranks r(2);
        CHECK(r.all_reduce(r.ranks[0]) == NcclResult::success);
        CHECK(r.all_reduce(r.ranks[1], NcclOperation::sum, 32) == NcclResult::success);
        r.use(r.ranks[0]);
        CHECK(r.api.stream_synchronize(r.ranks[0].stream) == DriverResult::unknown);
        CHECK(FakeDriver::last_error() == "ranks meet in different collectives");
    }
    set_fake_nccl_timeout_ms(20000);
    const Ranks r(2);
    // A stream of another device than the communicator's.
    auto* a = reinterpret_cast<void*>(r.ranks[0].a);
    CHECK(r.nccl.all_reduce(a, a, 4, NcclType::f32, NcclOperation::sum, r.ranks[0].comm,
                            r.ranks[1].stream) == NcclResult::invalid_usage);
}

TEST_CASE("NCCL: a function that the library lacks is named", "[cuda][quick]") {
    FakeNcclSymbols symbols;
    symbols.missing = "ncclAllGather";
    const auto api = load_nccl_api(symbols);
    REQUIRE_FALSE(api.ok());
    CHECK(api.error().where == "fake NCCL: ncclAllGather");
}
