// SPDX-License-Identifier: Apache-2.0
// What the emulator's device header calls: the primitives that need the scheduler, on plain bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace hokku::emulation {

/// Where the running thread is.
struct Place {
    uint32_t thread, num_threads, block_x, block_y, block_z, grid_x, grid_y, grid_z;
};
uint32_t place_thread();
uint32_t place_num_threads();
Place place();

/// Ends the run with an error that names kernel, block and thread.
[[noreturn]] void fail_thread(const char* what);
[[noreturn]] void fail_shared_index(const char* name, size_t index, size_t size);

void* static_shared(const void* tag, size_t bytes, const char* name);
/// [offset, offset + bytes) of the shared memory that the launch asked for.
void* dynamic_shared(size_t offset, size_t bytes);
/// Fails unless p is a multiple of `alignment` and, where it points into shared memory's guards or
/// across an array's end, inside an array.
void check_access(const void* p, size_t bytes, size_t alignment);
/// The same for an address that must be one of shared memory.
void check_shared(const void* p, size_t bytes, size_t alignment);

/// Says whether device memory has these bytes; null: nobody knows.
using MemoryCheck = bool (*)(const void* p, size_t bytes);
void set_memory_check(MemoryCheck check);
/// Fails where the bytes are known to be outside of device memory: for what devices do not report.
void check_global(const void* p, size_t bytes);

void block_barrier(std::source_location where);
void warp_barrier(uint32_t mask, std::source_location where);

enum class ShuffleKind : uint32_t { index, exclusive, down, up };
uint32_t shuffle(ShuffleKind kind, uint32_t mask, uint32_t value, uint32_t lane,
                 std::source_location where);
uint32_t ballot(uint32_t mask, bool value, std::source_location where);

void mma_s8(int32_t* d, const uint32_t* a, const uint32_t* b, std::source_location where);
void mma_f16(float* d, const uint32_t* a, const uint32_t* b, std::source_location where);
void mma_bf16(float* d, const uint32_t* a, const uint32_t* b, std::source_location where);
/// num_matrices is 1, 2 or 4.
void load_matrix(uint32_t* registers, const void* row, uint32_t num_matrices, bool is_transposed,
                 std::source_location where);

/// source null: zeros.
void copy_async(void* target, const void* source, uint32_t bytes);
void copy_commit();
void copy_wait(uint32_t num_in_flight);

void yield();
void check_cooperative();
void wait_for_primary();
void allow_dependents();

float half_bits_to_float(uint16_t bits);
uint16_t float_to_half_bits(float value);
uint16_t float_to_bfloat_bits(float value);

}  // namespace hokku::emulation
