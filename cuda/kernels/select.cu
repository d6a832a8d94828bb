// SPDX-License-Identifier: Apache-2.0
// What is left of the logits before they cross the bus: scaling and caps, and the few best of a
// vocabulary. The best of each chunk are chosen by one block, those of all chunks by a second
// launch over what the first has found.
#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"

namespace hokku::cuda {

constexpr uint32_t kSelectThreads = 1024;
constexpr uint32_t kDigitBits = 8, kDigits = 1u << kDigitBits;

/// x = cap tanh(scale x / cap), or scale x.
HOKKU_KERNEL(scale_logits, ScaleLogitsParams, 256) {
    wait_for_primary();
    allow_dependents();
    float* x = p.x + uint64_t{block_y()} * p.stride;
    for (uint32_t i = block_x() * num_threads() + thread_id(); i < p.n;
         i += grid_x() * num_threads()) {
        const float scaled = x[i] * p.scale;
        x[i] = p.softcap > 0.0f ? p.softcap * tanh_f(scaled / p.softcap) : scaled;
    }
}

/// Larger for what is before: not-a-number, then larger numbers.
HOKKU_DEVICE uint32_t order_of(float value) {
    if (value != value) return 0xffffffffu;
    const uint32_t bits = float_to_bits(value == 0.0f ? 0.0f : value);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/// The sum over the lanes before this one.
HOKKU_DEVICE uint32_t sum_of_lanes_before(uint32_t value) {
    uint32_t sum = value;
    HOKKU_UNROLL
    for (uint32_t distance = 1; distance < kWarp; distance *= 2) {
        const uint32_t other = shuffle_up(kAllLanes, sum, distance);
        if (lane_id() >= distance) sum += other;
    }
    return sum - value;
}

/// The best k of a chunk, best first, of equals the earlier one; what there is not has the id
/// 0xffffffff and the value -infinity. block_x: chunk; block_y: row.
HOKKU_KERNEL(top_k, TopKParams, kSelectThreads) {
    HOKKU_SHARED(uint32_t, histogram, kDigits);
    HOKKU_SHARED(uint32_t, found_digit, 2);  // And how many are still to be found at it.
    HOKKU_SHARED(uint32_t, warp_counts, 32);
    HOKKU_SHARED(uint32_t, best_orders, kMaxTopK);
    HOKKU_SHARED(uint32_t, best_places, kMaxTopK);
    wait_for_primary();
    allow_dependents();
    const uint32_t begin = block_x() * p.chunk;
    const uint32_t size = begin >= p.n ? 0 : (p.n - begin < p.chunk ? p.n - begin : p.chunk);
    const uint32_t k = p.k < size ? p.k : size;
    const float* values = p.values + uint64_t{block_y()} * p.stride + begin;
    const uint64_t out = (uint64_t{block_y()} * grid_x() + block_x()) * p.k;
    for (uint32_t i = k + thread_id(); i < p.k; i += num_threads()) {
        p.out_values[out + i] = bits_to_float(0xff800000u);
        p.out_ids[out + i] = 0xffffffffu;
    }
    if (k == 0) return;  // The whole block.

    // Digit by digit the order of the k-th, beginning with the upper one.
    uint32_t kth = 0, known = 0, remaining = k;
    for (uint32_t shift = 32; shift > 0;) {
        shift -= kDigitBits;
        for (uint32_t i = thread_id(); i < kDigits; i += num_threads()) histogram[i] = 0;
        block_barrier();
        for (uint32_t i = thread_id(); i < size; i += num_threads()) {
            const uint32_t order = order_of(values[i]);
            if ((order & known) == kth) atomic_add(&histogram[order >> shift & (kDigits - 1)], 1u);
        }
        block_barrier();
        if (warp_id() == 0) {
            constexpr uint32_t kOfLane = kDigits / kWarp;
            const uint32_t last = kDigits - 1 - kOfLane * lane_id();  // And those below it.
            uint32_t sum = 0;
            for (uint32_t i = 0; i < kOfLane; ++i) sum += histogram[last - i];
            uint32_t before = sum_of_lanes_before(sum);
            if (before < remaining && remaining <= before + sum) {
                uint32_t digit = last;
                while (before + histogram[digit] < remaining) before += histogram[digit--];
                found_digit[0] = digit;
                found_digit[1] = remaining - before;
            }
        }
        block_barrier();
        kth |= found_digit[0] << shift;
        known |= (kDigits - 1) << shift;
        remaining = found_digit[1];
    }

    // All that are before the k-th, and as many equal ones as there is room for, by their places.
    uint32_t num_before = 0, num_equal = 0;
    for (uint32_t first = 0; first < size; first += num_threads()) {
        const uint32_t i = first + thread_id();
        const uint32_t order = i < size ? order_of(values[i]) : 0;
        const bool is_before = i < size && order > kth, is_equal = i < size && order == kth;
        // Equal ones are counted in the upper half.
        const uint32_t flags = (is_before ? 1u : 0u) | (is_equal ? 0x10000u : 0u);
        const uint32_t in_warp = sum_of_lanes_before(flags);
        if (lane_id() == kWarp - 1) warp_counts[warp_id()] = in_warp + flags;
        block_barrier();
        const uint32_t of_lane = lane_id() < num_warps() ? warp_counts[lane_id()] : 0;
        const uint32_t warps_before = sum_of_lanes_before(of_lane);
        const uint32_t base = shuffle(kAllLanes, warps_before, warp_id()) + in_warp;
        const uint32_t total = shuffle(kAllLanes, warps_before + of_lane, kWarp - 1);
        uint32_t place = kMaxTopK;
        if (is_before) {
            place = num_before + (base & 0xffffu);
        } else if (is_equal && num_equal + (base >> 16) < remaining) {
            place = k - remaining + num_equal + (base >> 16);
        }
        if (place < k) {
            best_orders[place] = order;
            best_places[place] = i;
        }
        num_before += total & 0xffffu;
        num_equal += total >> 16;
        block_barrier();  // The counts have been read.
    }
    for (uint32_t i = thread_id(); i < k; i += num_threads()) {
        const uint32_t order = best_orders[i], place = best_places[i];
        uint32_t rank = 0;
        for (uint32_t j = 0; j < k; ++j) {
            const uint32_t other = best_orders[j];
            rank += other > order || (other == order && best_places[j] < place) ? 1u : 0u;
        }
        p.out_values[out + rank] = values[place];
        p.out_ids[out + rank] = p.ids != nullptr
                                    ? p.ids[uint64_t{block_y()} * p.stride + begin + place]
                                    : begin + place;
    }
}

}  // namespace hokku::cuda
