// SPDX-License-Identifier: Apache-2.0
#include "driver/blas_api.h"

#include <type_traits>

namespace hokku::cuda {

Result<BlasApi> load_blas_api(const SymbolSource& library) {
    BlasApi api;
    const char* missing = nullptr;
    const auto load = [&](auto& member, const char* name) {
        void* symbol = library.find(name);
        if (symbol == nullptr && missing == nullptr) missing = name;
        member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(symbol);
    };
#define HOKKU_LOAD(member, name, parameters) load(api.member, name);
    HOKKU_BLAS_FUNCTIONS(HOKKU_LOAD)
#undef HOKKU_LOAD
    if (missing != nullptr) {
        return Error{ErrorCode::unsupported, "the cuBLAS library lacks a function",
                     library.name() + ": " + missing, "cuBLAS of CUDA 11 or later"};
    }
    return api;
}

BlasStatus multiply(const BlasApi& api, BlasHandle handle, const BlasProduct& p) {
    const float ones[2] = {0.0f, 1.0f};
    const int32_t whole_ones[2] = {0, 1};
    const bool is_whole = p.in_type == BlasType::i8;
    const void* factor = is_whole ? static_cast<const void*>(&whole_ones[1]) : &p.factor;
    const int keeps = p.accumulate ? 1 : 0;
    const void* beta = is_whole ? static_cast<const void*>(&whole_ones[keeps]) : &ones[keeps];
    return api.gemm(handle, BlasOperation::transpose, BlasOperation::none, p.rows, p.vectors,
                    p.cols, factor, p.w, p.in_type, p.w_stride > 0 ? p.w_stride : p.cols, p.x,
                    p.in_type, p.x_stride > 0 ? p.x_stride : p.cols, beta, p.y, p.out_type,
                    p.y_stride > 0 ? p.y_stride : p.rows,
                    is_whole ? BlasCompute::i32 : BlasCompute::f32, kBlasDefaultAlgorithm);
}

std::span<const char* const> blas_library_names() {
#if defined(_WIN32)
    static constexpr const char* kNames[] = {"cublas64_13.dll", "cublas64_12.dll"};
#else
    static constexpr const char* kNames[] = {"libcublas.so.13", "libcublas.so.12"};
#endif
    return kNames;
}

}  // namespace hokku::cuda
