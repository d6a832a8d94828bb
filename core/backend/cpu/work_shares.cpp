// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/work_shares.h"

#include <algorithm>

namespace hokku::cpu {

namespace {

constexpr uint32_t kUnitBits = 22, kTurnMask = (1u << 20) - 1;

struct Left {
    uint32_t turn, begin, end;
};

uint64_t pack(const Left& left) {
    return uint64_t{left.turn & kTurnMask} << (2 * kUnitBits) | uint64_t{left.begin} << kUnitBits |
           left.end;
}

Left unpack(uint64_t word) {
    constexpr uint64_t kMask = (uint64_t{1} << kUnitBits) - 1;
    return {static_cast<uint32_t>(word >> (2 * kUnitBits)),
            static_cast<uint32_t>(word >> kUnitBits & kMask), static_cast<uint32_t>(word & kMask)};
}

uint32_t round_up_to_even(uint32_t n) {
    return (n + 1) & ~1u;
}

}  // namespace

WorkShares::WorkShares(uint32_t num_lanes)
    : num_lanes_(num_lanes), words_(std::make_unique<Word[]>(num_lanes)) {}

void WorkShares::open(uint32_t lane, uint32_t turn, uint32_t num_units) {
    words_[lane].value.store(pack({turn, 0, num_units}), std::memory_order_relaxed);
}

// Units are only numbers: what is computed of them is made visible by the barrier after the job, so
// that no order of memory is needed here.
bool WorkShares::take(uint32_t lane, uint32_t turn, uint32_t grain, Part& part) {
    for (uint32_t i = 0; i < num_lanes_; ++i) {
        const uint32_t owner = lane + i < num_lanes_ ? lane + i : lane + i - num_lanes_;
        std::atomic<uint64_t>& word = words_[owner].value;
        uint64_t seen = word.load(std::memory_order_relaxed);
        while (true) {
            const Left left = unpack(seen);
            if (left.turn != (turn & kTurnMask) || left.begin == left.end) break;
            const uint32_t count = left.end - left.begin;
            // A quarter for the owner, half for a thief: what remains is done at about the same
            // time.
            const uint32_t quota = owner == lane ? count / 4 : count / 2;
            const uint32_t wanted = std::min(count, round_up_to_even(std::max({grain, quota, 1u})));
            Left rest = left;
            if (owner == lane) {
                part = {owner, left.begin, left.begin + wanted};
                rest.begin = part.end;
            } else {
                part = {owner, std::min(round_up_to_even(left.end - wanted), left.end), left.end};
                rest.end = part.begin;
            }
            if (word.compare_exchange_weak(seen, pack(rest), std::memory_order_relaxed))
                return true;
        }
    }
    return false;
}

}  // namespace hokku::cpu
