// SPDX-License-Identifier: Apache-2.0
// The device as nvcc sees it: the only file with assembly. device/device.h says what the
// primitives mean. What an architecture lacks is put together from what it has.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#define HOKKU_DEVICE __device__ __forceinline__
#define HOKKU_DEVICE_TABLE static __constant__ const
#define HOKKU_UNROLL _Pragma("unroll")
#define HOKKU_NO_UNROLL _Pragma("unroll 1")
#define HOKKU_KERNEL(name, Params, max_threads) \
    extern "C" __global__ void __launch_bounds__(max_threads) name(const __grid_constant__ Params p)
#define HOKKU_KERNEL_RESIDENT(name, Params, max_threads, min_blocks)      \
    extern "C" __global__ void __launch_bounds__(max_threads, min_blocks) \
        name(const __grid_constant__ Params p)
#define HOKKU_SHARED(T, name, n) __shared__ __align__(16) T name[n]

namespace hokku::cuda {

extern __shared__ uint4 dynamic_shared_memory[];

template <class T>
HOKKU_DEVICE T* dynamic_shared(uint32_t offset, uint32_t) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(dynamic_shared_memory) + offset);
}

HOKKU_DEVICE uint32_t thread_id() {
#ifdef HOKKU_MANY_PARTS
    uint32_t id;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(id));
    return id;
#else
    return threadIdx.x;
#endif
}
HOKKU_DEVICE uint32_t num_threads() {
    return blockDim.x;
}
HOKKU_DEVICE uint32_t block_x() {
    return blockIdx.x;
}
HOKKU_DEVICE uint32_t block_y() {
    return blockIdx.y;
}
HOKKU_DEVICE uint32_t block_z() {
    return blockIdx.z;
}
HOKKU_DEVICE uint32_t grid_x() {
    return gridDim.x;
}
HOKKU_DEVICE uint32_t grid_y() {
    return gridDim.y;
}
HOKKU_DEVICE uint32_t grid_z() {
    return gridDim.z;
}

HOKKU_DEVICE void block_barrier() {
    __syncthreads();
}
HOKKU_DEVICE void warp_barrier(uint32_t mask) {
    __syncwarp(mask);
}
template <class T>
HOKKU_DEVICE T shuffle(uint32_t mask, T value, uint32_t lane) {
    return __shfl_sync(mask, value, static_cast<int>(lane));
}
template <class T>
HOKKU_DEVICE T shuffle_xor(uint32_t mask, T value, uint32_t bits) {
    return __shfl_xor_sync(mask, value, static_cast<int>(bits));
}
template <class T>
HOKKU_DEVICE T shuffle_down(uint32_t mask, T value, uint32_t distance) {
    return __shfl_down_sync(mask, value, distance);
}
template <class T>
HOKKU_DEVICE T shuffle_up(uint32_t mask, T value, uint32_t distance) {
    return __shfl_up_sync(mask, value, distance);
}
HOKKU_DEVICE uint32_t ballot(uint32_t mask, bool flag) {
    return __ballot_sync(mask, flag);
}

HOKKU_DEVICE int32_t dot4(int32_t a, int32_t b, int32_t c) {
    return __dp4a(a, b, c);
}

#if __CUDA_ARCH__ < 800
/// One of the four m8n8k16 that sm_75 has for a m16n8k32; the fragments are parts of its.
HOKKU_DEVICE void mma_s8_quarter(int32_t& d0, int32_t& d1, uint32_t a, uint32_t b) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d0), "+r"(d1)
                 : "r"(a), "r"(b));
}
HOKKU_DEVICE void mma_f16_half(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(b));
}
#endif

HOKKU_DEVICE void mma_s8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    mma_s8_quarter(d[0], d[1], a[0], b[0]);
    mma_s8_quarter(d[0], d[1], a[2], b[1]);
    mma_s8_quarter(d[2], d[3], a[1], b[0]);
    mma_s8_quarter(d[2], d[3], a[3], b[1]);
#endif
}

HOKKU_DEVICE void mma_s8_half(int32_t (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a0), "r"(a1), "r"(b));
#else
    mma_s8_quarter(d[0], d[1], a0, b);
    mma_s8_quarter(d[2], d[3], a1, b);
#endif
}

HOKKU_DEVICE void mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    mma_f16_half(d, a[0], a[1], b[0]);
    mma_f16_half(d, a[2], a[3], b[1]);
#endif
}

/// From sm_80 on; before, the sums stay as they are and no kernel may be launched that needs it.
HOKKU_DEVICE void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    (void)d, (void)a, (void)b;
    __trap();
#endif
}

HOKKU_DEVICE uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

HOKKU_DEVICE void load_matrix(uint32_t (&r)[1], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(shared_address(row))
                 : "memory");
}
HOKKU_DEVICE void load_matrix(uint32_t (&r)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}
HOKKU_DEVICE void load_matrix(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
HOKKU_DEVICE void load_matrix_transposed(uint32_t (&r)[1], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(shared_address(row))
                 : "memory");
}
HOKKU_DEVICE void load_matrix_transposed(uint32_t (&r)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row))
                 : "memory");
}
HOKKU_DEVICE void load_matrix_transposed(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

HOKKU_DEVICE void copy_async16_or_zero(void* shared, const void* global, bool is_inside) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)),
                   "r"(is_inside ? 16 : 0)
                 : "memory");
#else
    *static_cast<uint4*>(shared) =
        is_inside ? *static_cast<const uint4*>(global) : make_uint4(0, 0, 0, 0);
#endif
}
HOKKU_DEVICE void copy_async8_or_zero(void* shared, const void* global, bool is_inside) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)),
                   "r"(is_inside ? 8 : 0)
                 : "memory");
#else
    *static_cast<uint2*>(shared) =
        is_inside ? *static_cast<const uint2*>(global) : make_uint2(0, 0);
#endif
}
HOKKU_DEVICE void copy_async16(void* shared, const void* global) {
    copy_async16_or_zero(shared, global, true);
}
HOKKU_DEVICE void copy_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <uint32_t n>
HOKKU_DEVICE void copy_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

struct alignas(16) Words4 {
    uint32_t w[4];
};
struct alignas(8) Words2 {
    uint32_t w[2];
};
HOKKU_DEVICE Words4 load16(const void* p) {
    const uint4 v = *static_cast<const uint4*>(p);
    return {{v.x, v.y, v.z, v.w}};
}
HOKKU_DEVICE void store16(void* p, const Words4& v) {
    *static_cast<uint4*>(p) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}
HOKKU_DEVICE Words2 load8(const void* p) {
    const uint2 v = *static_cast<const uint2*>(p);
    return {{v.x, v.y}};
}
/// Not volatile and not ordered with other memory: weights never change, so that the compiler may
/// begin the load before a barrier or a wait.
HOKKU_DEVICE Words4 load16_once(const void* p) {
    Words4 v;
    asm("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
        : "l"(__cvta_generic_to_global(p)));
    return v;
}
HOKKU_DEVICE Words2 load8_once(const void* p) {
    Words2 v;
    asm("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(v.w[0]), "=r"(v.w[1])
        : "l"(__cvta_generic_to_global(p)));
    return v;
}
HOKKU_DEVICE uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    return __byte_perm(a, b, selector);
}
HOKKU_DEVICE void prefetch(const void* p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
}

HOKKU_DEVICE float bits_to_float(uint32_t bits) {
    return __uint_as_float(bits);
}
HOKKU_DEVICE uint32_t float_to_bits(float value) {
    return __float_as_uint(value);
}
HOKKU_DEVICE float half_to_float(uint16_t bits) {
    return __half2float(__ushort_as_half(bits));
}
HOKKU_DEVICE uint16_t float_to_half(float value) {
    return __half_as_ushort(__float2half_rn(value));
}
HOKKU_DEVICE float bfloat_to_float(uint16_t bits) {
    return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}
HOKKU_DEVICE uint16_t float_to_bfloat(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

template <class T>
HOKKU_DEVICE T atomic_add(T* p, T value) {
    return atomicAdd(p, value);
}
template <class T>
HOKKU_DEVICE T atomic_max(T* p, T value) {
    return atomicMax(p, value);
}
HOKKU_DEVICE uint32_t load_acquire(const uint32_t* p) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return value;
}
HOKKU_DEVICE uint32_t load_acquire_system(const uint32_t* p) {
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return value;
}
HOKKU_DEVICE void store_release_system(uint32_t* p, uint32_t value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)),
                 "r"(value)
                 : "memory");
}
HOKKU_DEVICE uint32_t add_release(uint32_t* p, uint32_t value) {
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(p)), "r"(value)
                 : "memory");
    return before;
}
template <class Condition>
HOKKU_DEVICE void spin_until(Condition condition) {
    while (!condition()) {
    }
}
HOKKU_DEVICE void check_cooperative() {}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kHasDependentLaunches = true;
#else
inline constexpr bool kHasDependentLaunches = false;
#endif
HOKKU_DEVICE void wait_for_primary() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
HOKKU_DEVICE void allow_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

HOKKU_DEVICE float exp_f(float x) {
    return expf(x);
}
HOKKU_DEVICE float log_f(float x) {
    return logf(x);
}
HOKKU_DEVICE float tanh_f(float x) {
    return tanhf(x);
}
HOKKU_DEVICE float erf_f(float x) {
    return erff(x);
}
HOKKU_DEVICE float rsqrt_f(float x) {
    return rsqrtf(x);
}
HOKKU_DEVICE float sqrt_f(float x) {
    return sqrtf(x);
}
HOKKU_DEVICE float fma_f(float a, float b, float c) {
    return fmaf(a, b, c);
}
HOKKU_DEVICE float abs_f(float x) {
    return fabsf(x);
}
HOKKU_DEVICE float max_f(float a, float b) {
    return fmaxf(a, b);
}
HOKKU_DEVICE float min_f(float a, float b) {
    return fminf(a, b);
}
HOKKU_DEVICE int32_t round_to_int(float x) {
    return __float2int_rn(x);
}

}  // namespace hokku::cuda
