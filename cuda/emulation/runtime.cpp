// SPDX-License-Identifier: Apache-2.0
#include "emulation/runtime.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "emulation/scheduler.h"

namespace hokku::emulation {

namespace {

constexpr size_t kMaxStaticShared = 48 * 1024;
const char kDynamicTag = 0;
MemoryCheck memory_check = nullptr;

bool is_aligned(const void* p, size_t alignment) {
    return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

std::string in_bytes(const void* p, size_t bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%zu bytes at %p", bytes, p);
    return text;
}

}  // namespace

uint32_t place_thread() {
    return current_thread().index;
}

uint32_t place_num_threads() {
    return current_thread().block->grid->launch->num_threads;
}

Place place() {
    const Thread& thread = current_thread();
    const Block& block = *thread.block;
    const KernelLaunch& launch = *block.grid->launch;
    return {thread.index, launch.num_threads, block.x,       block.y,
            block.z,      launch.grid.x,      launch.grid.y, launch.grid.z};
}

void fail_thread(const char* what) {
    const IgnoreAccesses ignore;
    current_scheduler().fail(what);
}

void fail_shared_index(const char* name, size_t index, size_t size) {
    const IgnoreAccesses ignore;
    current_scheduler().fail("index " + std::to_string(index) + " of shared array " + name +
                             " is out of bounds, it has " + std::to_string(size) + " elements");
}

void* static_shared(const void* tag, size_t bytes, const char* name) {
    const IgnoreAccesses ignore;
    SharedMemory& shared = current_thread().block->shared;
    void* memory = shared.find(tag, bytes, name);
    const size_t dynamic = current_thread().block->grid->launch->shared_bytes;
    if (shared.total_bytes() > kMaxStaticShared + dynamic) {
        current_scheduler().fail("more than 48 KiB of static shared memory");
    }
    return memory;
}

void* dynamic_shared(size_t offset, size_t bytes) {
    const IgnoreAccesses ignore;
    Block& block = *current_thread().block;
    const size_t size = block.grid->launch->shared_bytes;
    if (offset + bytes > size) {
        current_scheduler().fail(
            "bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
            " of dynamic shared memory are out of bounds, it has " + std::to_string(size));
    }
    return block.shared.find(&kDynamicTag, size, "dynamic") + offset;
}

void check_access(const void* p, size_t bytes, size_t alignment) {
    if (is_aligned(p, alignment)) return;
    const IgnoreAccesses ignore;
    current_scheduler().fail(in_bytes(p, bytes) + " are not aligned to " +
                             std::to_string(alignment));
}

void check_shared(const void* p, size_t bytes, size_t alignment) {
    const IgnoreAccesses ignore;
    check_access(p, bytes, alignment);
    if (!current_thread().block->shared.contains(p, bytes)) {
        current_scheduler().fail(in_bytes(p, bytes) + " are not in a shared array");
    }
}

void set_memory_check(MemoryCheck check) {
    memory_check = check;
}

void check_global(const void* p, size_t bytes) {
    const IgnoreAccesses ignore;
    if (memory_check == nullptr || memory_check(p, bytes)) return;
    current_scheduler().fail(in_bytes(p, bytes) + " are not in device memory");
}

void block_barrier(std::source_location where) {
    const IgnoreAccesses ignore;
    current_scheduler().barrier(where);
}

void warp_barrier(uint32_t mask, std::source_location where) {
    const IgnoreAccesses ignore;
    const auto nothing = [](const WarpCall* const*, uint32_t) {};
    current_scheduler().collective({.combine = nothing,
                                    .mask = mask,
                                    .in = nullptr,
                                    .out = nullptr,
                                    .where = where,
                                    .is_barrier = true});
}

namespace {

struct ShuffleInput {
    ShuffleKind kind;
    uint32_t value, lane;
};

/// The lane whose value `lane` gets; its own where the source lies outside the warp.
uint32_t source_lane(const ShuffleInput& in, uint32_t lane) {
    switch (in.kind) {
        case ShuffleKind::index:
            return in.lane % 32;
        case ShuffleKind::exclusive:
            return (lane ^ in.lane) < 32 ? lane ^ in.lane : lane;
        case ShuffleKind::down:
            return lane + in.lane < 32 ? lane + in.lane : lane;
        case ShuffleKind::up:
            return lane >= in.lane ? lane - in.lane : lane;
    }
    return lane;
}

void combine_shuffle(const WarpCall* const* lanes, uint32_t mask) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (lanes[lane] == nullptr) continue;
        const auto& in = *static_cast<const ShuffleInput*>(lanes[lane]->in);
        const uint32_t source = source_lane(in, lane);
        if ((mask >> source & 1u) == 0) {
            current_scheduler().fail("a shuffle reads lane " + std::to_string(source) +
                                     ", which is not in its mask");
        }
        const auto& other = *static_cast<const ShuffleInput*>(lanes[source]->in);
        if (other.kind != in.kind) current_scheduler().fail("lanes meet in different shuffles");
        std::memcpy(lanes[lane]->out, &other.value, sizeof other.value);
    }
}

void combine_ballot(const WarpCall* const* lanes, uint32_t) {
    uint32_t votes = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (lanes[lane] != nullptr && *static_cast<const bool*>(lanes[lane]->in)) {
            votes |= 1u << lane;
        }
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (lanes[lane] != nullptr) std::memcpy(lanes[lane]->out, &votes, sizeof votes);
    }
}

}  // namespace

uint32_t shuffle(ShuffleKind kind, uint32_t mask, uint32_t value, uint32_t lane,
                 std::source_location where) {
    const IgnoreAccesses ignore;
    const ShuffleInput in{kind, value, lane};
    uint32_t out = 0;
    current_scheduler().collective(
        {.combine = combine_shuffle, .mask = mask, .in = &in, .out = &out, .where = where});
    return out;
}

uint32_t ballot(uint32_t mask, bool value, std::source_location where) {
    const IgnoreAccesses ignore;
    uint32_t out = 0;
    current_scheduler().collective(
        {.combine = combine_ballot, .mask = mask, .in = &value, .out = &out, .where = where});
    return out;
}

void copy_async(void* target, const void* source, uint32_t bytes) {
    const IgnoreAccesses ignore;
    check_shared(target, bytes, bytes);
    if (source != nullptr) check_access(source, bytes, bytes);
    auto* to = static_cast<std::byte*>(target);
    const auto* from = static_cast<const std::byte*>(source);
    AsyncCopies& copies = current_thread().copies;
    if (!current_scheduler().schedule().has_eager_copies) {
        std::memset(to, 0xff, bytes);
        copies.open.push_back({to, from, bytes});
        return;
    }
    if (from == nullptr) {
        std::memset(to, 0, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
    copies.open.push_back({nullptr, nullptr, bytes});
}

void copy_commit() {
    const IgnoreAccesses ignore;
    AsyncCopies& copies = current_thread().copies;
    copies.groups.push_back(std::move(copies.open));
    copies.open.clear();
}

void copy_wait(uint32_t num_in_flight) {
    const IgnoreAccesses ignore;
    AsyncCopies& copies = current_thread().copies;
    while (copies.groups.size() > num_in_flight) {
        for (const AsyncCopy& copy : copies.groups.front()) {
            if (copy.target == nullptr) continue;
            if (copy.source == nullptr) {
                std::memset(copy.target, 0, copy.bytes);
            } else {
                std::memcpy(copy.target, copy.source, copy.bytes);
            }
        }
        copies.groups.pop_front();
    }
}

void yield() {
    const IgnoreAccesses ignore;
    current_scheduler().yield();
}

void check_cooperative() {
    const IgnoreAccesses ignore;
    if (!current_thread().block->grid->launch->is_cooperative) {
        current_scheduler().fail("a grid barrier in a launch that is not cooperative");
    }
}

void wait_for_primary() {
    const IgnoreAccesses ignore;
    current_scheduler().wait_for_primary();
}

void allow_dependents() {
    const IgnoreAccesses ignore;
    current_scheduler().allow_dependents();
}

float half_bits_to_float(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u;
    const uint32_t fraction = bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                          : std::ldexp(static_cast<float>(fraction | 0x400u),
                                                       static_cast<int>(exponent) - 25);
    return sign != 0 ? -magnitude : magnitude;
}

uint16_t float_to_half_bits(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
    const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
    if (magnitude > 0x7f800000u) return 0x7fff;           // The device's canonical not-a-number.
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // Rounds beyond 65504.
    if (magnitude < 0x38800000u) {  // Subnormal: units of 2^-24, to the nearest even.
        const double units = std::ldexp(static_cast<double>(std::abs(value)), 24);
        return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(units)));
    }
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

uint16_t float_to_bfloat_bits(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace hokku::emulation
