// SPDX-License-Identifier: Apache-2.0
// The device as g++ sees it: primitives on the emulator. device/device.h says what they mean.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "emulation/launch.h"
#include "emulation/runtime.h"

#define HOKKU_DEVICE inline
#define HOKKU_DEVICE_TABLE static constexpr
#define HOKKU_UNROLL
#define HOKKU_NO_UNROLL
#define HOKKU_KERNEL(name, Params, max_threads)                                   \
    static void name(const Params& p);                                            \
    static const ::hokku::emulation::KernelRegistration name##_registration{      \
        {#name, sizeof(Params), max_threads,                                      \
         [](const void* params) { name(*static_cast<const Params*>(params)); }}}; \
    static void name(const Params& p)
#define HOKKU_KERNEL_RESIDENT(name, Params, max_threads, min_blocks) \
    HOKKU_KERNEL(name, Params, max_threads)
#define HOKKU_SHARED(T, name, n)              \
    static const char name##_tag = 0;         \
    const ::hokku::cuda::SharedArray<T> name( \
        ::hokku::emulation::static_shared(&name##_tag, sizeof(T) * (n), #name), (n), #name)

namespace hokku::cuda {

using Where = std::source_location;

/// Checks every index.
template <class T>
class SharedArray {
  public:
    SharedArray(void* memory, size_t size, const char* name)
        : elements_(static_cast<T*>(memory)), size_(size), name_(name) {}
    T& operator[](size_t i) const {
        if (i >= size_) emulation::fail_shared_index(name_, i, size_);
        return elements_[i];
    }

  private:
    T* elements_;
    size_t size_;
    const char* name_;
};

template <class T>
SharedArray<T> dynamic_shared(uint32_t offset, uint32_t n) {
    return {emulation::dynamic_shared(offset, sizeof(T) * n), n, "dynamic"};
}

inline uint32_t thread_id() {
    return emulation::place_thread();
}
inline uint32_t num_threads() {
    return emulation::place_num_threads();
}
inline uint32_t block_x() {
    return emulation::place().block_x;
}
inline uint32_t block_y() {
    return emulation::place().block_y;
}
inline uint32_t block_z() {
    return emulation::place().block_z;
}
inline uint32_t grid_x() {
    return emulation::place().grid_x;
}
inline uint32_t grid_y() {
    return emulation::place().grid_y;
}
inline uint32_t grid_z() {
    return emulation::place().grid_z;
}

inline void block_barrier(Where where = Where::current()) {
    emulation::block_barrier(where);
}
inline void warp_barrier(uint32_t mask, Where where = Where::current()) {
    emulation::warp_barrier(mask, where);
}

template <class T>
T shuffle_any(emulation::ShuffleKind kind, uint32_t mask, T value, uint32_t lane, Where where) {
    static_assert(sizeof(T) == 4 && std::is_trivially_copyable_v<T>);
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return std::bit_cast<T>(emulation::shuffle(kind, mask, bits, lane, where));
}
template <class T>
T shuffle(uint32_t mask, T value, uint32_t lane, Where where = Where::current()) {
    return shuffle_any(emulation::ShuffleKind::index, mask, value, lane, where);
}
template <class T>
T shuffle_xor(uint32_t mask, T value, uint32_t bits, Where where = Where::current()) {
    return shuffle_any(emulation::ShuffleKind::exclusive, mask, value, bits, where);
}
template <class T>
T shuffle_down(uint32_t mask, T value, uint32_t distance, Where where = Where::current()) {
    return shuffle_any(emulation::ShuffleKind::down, mask, value, distance, where);
}
template <class T>
T shuffle_up(uint32_t mask, T value, uint32_t distance, Where where = Where::current()) {
    return shuffle_any(emulation::ShuffleKind::up, mask, value, distance, where);
}
inline uint32_t ballot(uint32_t mask, bool flag, Where where = Where::current()) {
    return emulation::ballot(mask, flag, where);
}

inline int32_t dot4(int32_t a, int32_t b, int32_t c) {
    auto sum = static_cast<uint32_t>(c);
    for (int i = 0; i < 32; i += 8) {
        sum += static_cast<uint32_t>(static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i));
    }
    return static_cast<int32_t>(sum);
}

inline void mma_s8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                   Where where = Where::current()) {
    emulation::mma_s8(d, a, b, where);
}
inline void mma_s8_half(int32_t (&d)[4], uint32_t a0, uint32_t a1, uint32_t b,
                        Where where = Where::current()) {
    const uint32_t a[4] = {a0, a1, 0, 0}, columns[2] = {b, 0};
    emulation::mma_s8(d, a, columns, where);
}
inline void mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                    Where where = Where::current()) {
    emulation::mma_f16(d, a, b, where);
}
inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                     Where where = Where::current()) {
    emulation::mma_bf16(d, a, b, where);
}
template <uint32_t n>
void load_matrix(uint32_t (&r)[n], const void* row, Where where = Where::current()) {
    emulation::load_matrix(r, row, n, false, where);
}
template <uint32_t n>
void load_matrix_transposed(uint32_t (&r)[n], const void* row, Where where = Where::current()) {
    emulation::load_matrix(r, row, n, true, where);
}

inline void copy_async16(void* shared, const void* global) {
    emulation::copy_async(shared, global, 16);
}
inline void copy_async16_or_zero(void* shared, const void* global, bool is_inside) {
    emulation::copy_async(shared, is_inside ? global : nullptr, 16);
}
inline void copy_async8_or_zero(void* shared, const void* global, bool is_inside) {
    emulation::copy_async(shared, is_inside ? global : nullptr, 8);
}
inline void copy_commit() {
    emulation::copy_commit();
}
template <uint32_t n>
void copy_wait() {
    emulation::copy_wait(n);
}

struct alignas(16) Words4 {
    uint32_t w[4];
};
struct alignas(8) Words2 {
    uint32_t w[2];
};
inline Words4 load16(const void* p) {
    emulation::check_access(p, 16, 16);
    return *static_cast<const Words4*>(p);
}
inline Words4 load16_once(const void* p) {
    return load16(p);
}
inline void store16(void* p, const Words4& v) {
    emulation::check_access(p, 16, 16);
    *static_cast<Words4*>(p) = v;
}
inline Words2 load8(const void* p) {
    emulation::check_access(p, 8, 8);
    return *static_cast<const Words2*>(p);
}
inline Words2 load8_once(const void* p) {
    return load8(p);
}
inline uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t out = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        const uint64_t byte = bytes >> (8 * (selector >> (4 * i) & 7u)) & 255u;
        out |= static_cast<uint32_t>(byte) << (8 * i);
    }
    return out;
}
inline void prefetch(const void* p) {
    emulation::check_global(p, 1);
}

inline float bits_to_float(uint32_t bits) {
    return std::bit_cast<float>(bits);
}
inline uint32_t float_to_bits(float value) {
    return std::bit_cast<uint32_t>(value);
}
inline float half_to_float(uint16_t bits) {
    return emulation::half_bits_to_float(bits);
}
inline uint16_t float_to_half(float value) {
    return emulation::float_to_half_bits(value);
}
inline float bfloat_to_float(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t float_to_bfloat(float value) {
    return emulation::float_to_bfloat_bits(value);
}

template <class T>
T atomic_add(T* p, T value) {
    return std::atomic_ref<T>(*p).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
T atomic_max(T* p, T value) {
    static_assert(std::is_integral_v<T>);
    const std::atomic_ref<T> cell(*p);
    T before = cell.load(std::memory_order_relaxed);
    while (before < value && !cell.compare_exchange_weak(before, value, std::memory_order_relaxed))
        ;
    return before;
}
inline uint32_t load_acquire(const uint32_t* p) {
    return std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(p)).load(std::memory_order_acquire);
}
inline uint32_t load_acquire_system(const uint32_t* p) {
    return load_acquire(p);
}
inline void store_release_system(uint32_t* p, uint32_t value) {
    std::atomic_ref<uint32_t>(*p).store(value, std::memory_order_release);
}
inline uint32_t add_release(uint32_t* p, uint32_t value) {
    return std::atomic_ref<uint32_t>(*p).fetch_add(value, std::memory_order_acq_rel);
}
template <class Condition>
void spin_until(Condition condition) {
    while (!condition()) emulation::yield();
}
inline void check_cooperative() {
    emulation::check_cooperative();
}
inline constexpr bool kHasDependentLaunches = true;
inline void wait_for_primary() {
    emulation::wait_for_primary();
}
inline void allow_dependents() {
    emulation::allow_dependents();
}

inline float exp_f(float x) {
    return std::exp(x);
}
inline float log_f(float x) {
    return std::log(x);
}
inline float tanh_f(float x) {
    return std::tanh(x);
}
inline float erf_f(float x) {
    return std::erf(x);
}
inline float rsqrt_f(float x) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}
inline float sqrt_f(float x) {
    return std::sqrt(x);
}
inline float fma_f(float a, float b, float c) {
    return std::fma(a, b, c);
}
inline float abs_f(float x) {
    return std::fabs(x);
}
inline float max_f(float a, float b) {
    return std::fmax(a, b);
}
inline float min_f(float a, float b) {
    return std::fmin(a, b);
}
/// To the nearest, of two equally near the even one.
inline int32_t round_to_int(float x) {
    return static_cast<int32_t>(std::nearbyint(x));
}

}  // namespace hokku::cuda
