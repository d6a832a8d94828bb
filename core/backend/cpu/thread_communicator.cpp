// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/thread_communicator.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "backend/cpu/barrier.h"

namespace hokku::cpu {

/// What ranks show each other. A call puts its arguments here, meets the others, works, and meets
/// them again; so nobody reads them after the next call has begun.
struct ThreadGroup::Shared {
    Shared(uint32_t num_ranks, uint32_t ranks_lanes)
        : num_lanes(ranks_lanes), barrier(num_ranks * ranks_lanes), slots(num_ranks) {}

    struct alignas(64) Slot {
        float* values = nullptr;
    };
    uint32_t num_lanes;
    Barrier barrier;
    std::vector<Slot> slots;
};

namespace {

/// Share `index` of `count` of n values, in whole cache lines.
struct Share {
    Share(size_t n, size_t index, size_t count) {
        constexpr size_t kLine = 16;
        const size_t num_lines = (n + kLine - 1) / kLine;
        begin = std::min(n, num_lines * index / count * kLine);
        end = std::min(n, num_lines * (index + 1) / count * kLine);
    }
    size_t begin, end;
};

}  // namespace

class ThreadGroup::ThreadCommunicator final : public Communicator {
  public:
    ThreadCommunicator(Shared& shared, uint32_t rank, uint32_t lane)
        : shared_(shared), rank_(rank), lane_(lane) {}

    [[nodiscard]] uint32_t rank() const override { return rank_; }
    [[nodiscard]] uint32_t num_ranks() const override {
        return static_cast<uint32_t>(shared_.slots.size());
    }

    // Each thread adds up a share of the values and writes the sums to all ranks: nobody else
    // touches these places.
    void all_reduce(std::span<float> values) override {
        if (lane_ == 0) own_slot().values = values.data();
        shared_.barrier.arrive_and_wait();
        const size_t num_threads = shared_.slots.size() * shared_.num_lanes;
        const Share share(values.size(), rank_ * shared_.num_lanes + lane_, num_threads);
        constexpr size_t kChunk = 64;
        for (size_t i = share.begin; i < share.end; i += kChunk)
            add_chunk<kChunk>(i, std::min(kChunk, share.end - i));
        shared_.barrier.arrive_and_wait();
    }

    // Each rank writes its part to all that want it.
    void all_gather(const GatherCall& call) override {
        if (lane_ == 0) own_slot().values = call.whole;
        shared_.barrier.arrive_and_wait();
        const Share share(call.cols, lane_, shared_.num_lanes);
        for (const Shared::Slot& slot : shared_.slots) {
            if (slot.values == nullptr) continue;
            for (size_t row = 0; row < call.rows; ++row)
                std::copy_n(call.part + row * call.cols + share.begin, share.end - share.begin,
                            slot.values + row * call.whole_cols + call.first_col + share.begin);
        }
        shared_.barrier.arrive_and_wait();
    }

  private:
    [[nodiscard]] Shared::Slot& own_slot() { return shared_.slots[rank_]; }

    template <size_t kChunk>
    void add_chunk(size_t begin, size_t count) {
        std::array<float, kChunk> sums;
        std::copy_n(shared_.slots.front().values + begin, count, sums.data());
        for (size_t rank = 1; rank < shared_.slots.size(); ++rank) {
            const float* values = shared_.slots[rank].values + begin;
            for (size_t i = 0; i < count; ++i) sums[i] += values[i];
        }
        for (const Shared::Slot& slot : shared_.slots)
            std::copy_n(sums.data(), count, slot.values + begin);
    }

    Shared& shared_;
    uint32_t rank_, lane_;
};

ThreadGroup::ThreadGroup(uint32_t num_ranks, uint32_t num_lanes)
    : shared_(std::make_unique<Shared>(num_ranks, num_lanes)), num_lanes_(num_lanes) {
    for (uint32_t rank = 0; rank < num_ranks; ++rank)
        for (uint32_t lane = 0; lane < num_lanes; ++lane)
            ends_.push_back(std::make_unique<ThreadCommunicator>(*shared_, rank, lane));
}

ThreadGroup::~ThreadGroup() = default;

}  // namespace hokku::cpu
