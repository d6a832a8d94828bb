// SPDX-License-Identifier: Apache-2.0
// BlasApi: the part of cuBLAS that the plug-in uses, as a table that is filled at run time. And
// the one place that turns our row-major products into its column-major ones.
//
// GGUF's [rows][cols] weight, cols contiguous, is the same memory as a column-major cols x rows
// matrix. So y [vectors][rows] = x [vectors][cols] W^T is, column by column,
//     Y (rows x vectors) = op(W) (rows x cols) X (cols x vectors),   op(W) = T, op(X) = N,
// with leading dimensions cols, cols and rows, or the strides where rows lie further apart.
// Source : cuBLAS 13 (cublas_api.h); what is used exists since CUDA 11.
#pragma once

#include "driver/driver_types.h"
#include "driver/symbols.h"
#include "hokku/result.h"

#if defined(_WIN32)
#define HOKKU_BLAS_CALL __stdcall
#else
#define HOKKU_BLAS_CALL
#endif

namespace hokku::cuda {

using BlasHandle = struct BlasContext*;

enum class BlasStatus : int32_t {
    success = 0,
    not_initialized = 1,
    alloc_failed = 3,
    invalid_value = 7,
    execution_failed = 13,
    not_supported = 15,
};
enum class BlasOperation : int32_t { none = 0, transpose = 1 };
enum class BlasType : int32_t { f32 = 0, f16 = 2, i8 = 3, i32 = 10, bf16 = 14 };
enum class BlasCompute : int32_t { f32 = 68, i32 = 72 };
inline constexpr int32_t kBlasDefaultAlgorithm = -1;

// X(member, name in the library, parameters)
#define HOKKU_BLAS_FUNCTIONS(X)                                                                    \
    X(create, "cublasCreate_v2", (BlasHandle * handle))                                            \
    X(destroy, "cublasDestroy_v2", (BlasHandle handle))                                            \
    X(set_stream, "cublasSetStream_v2", (BlasHandle handle, StreamHandle stream))                  \
    X(set_workspace, "cublasSetWorkspace_v2", (BlasHandle handle, void* memory, size_t bytes))     \
    X(gemm, "cublasGemmEx",                                                                        \
      (BlasHandle handle, BlasOperation op_a, BlasOperation op_b, int32_t m, int32_t n, int32_t k, \
       const void* alpha, const void* a, BlasType a_type, int32_t lda, const void* b,              \
       BlasType b_type, int32_t ldb, const void* beta, void* c, BlasType c_type, int32_t ldc,      \
       BlasCompute compute, int32_t algorithm))

struct BlasApi {
#define HOKKU_MEMBER(member, name, parameters) \
    BlasStatus(HOKKU_BLAS_CALL* member) parameters = nullptr;
    HOKKU_BLAS_FUNCTIONS(HOKKU_MEMBER)
#undef HOKKU_MEMBER
};

/// Errors : unsupported, naming the function that the library lacks.
Result<BlasApi> load_blas_api(const SymbolSource& library);

/// y [vectors][rows] (+)= factor * x [vectors][cols] W^T, all row-major, W [rows][cols].
struct BlasProduct {
    const void* w = nullptr;
    const void* x = nullptr;
    void* y = nullptr;
    BlasType in_type = BlasType::f16;   ///< Of w and x: f16, bf16, f32 or i8.
    BlasType out_type = BlasType::f32;  ///< i32 for i8.
    int32_t rows = 0, cols = 0, vectors = 0;
    int32_t w_stride = 0, x_stride = 0, y_stride = 0;  ///< Elements; 0: cols, cols, rows.
    bool accumulate = false;
    float factor = 1.0f;  ///< Of floats.
};

BlasStatus multiply(const BlasApi& api, BlasHandle handle, const BlasProduct& product);

/// Names of the library on this system.
std::span<const char* const> blas_library_names();

}  // namespace hokku::cuda
