// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_blas.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "plugin/gpu_weights.h"

namespace hokku::cuda {

BlasNeeds blas_needs(const Model& model, PrefillProducts products, bool has_library) {
    BlasNeeds needs;
    if (!has_library) return needs;
    const bool is_reference = products == PrefillProducts::reference;
    for (const LayerWeights& layer : model.weights().layers) {
        for (const WeightMatrix* matrix :
             {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.gate, &layer.up, &layer.down,
              &layer.router, &layer.shared_gate, &layer.shared_up, &layer.shared_down,
              &layer.shared_router}) {
            if (!*matrix || (!is_reference && !is_float_type(matrix->type))) continue;
            needs.is_used = true;
            if (matrix->type != TensorType::f32)
                needs.max_cols = std::max(needs.max_cols, matrix->cols);
            // Rows of q, k and v may be one matrix.
            if (!is_float_type(matrix->type))
                needs.matrix_values =
                    std::max(needs.matrix_values, size_t{3} * matrix->rows * matrix->cols);
        }
    }
    return needs;
}

Result<std::unique_ptr<GpuBlas>> GpuBlas::create(const Gpu& gpu, const BlasApi& api,
                                                 DevicePointer workspace) {
    std::unique_ptr<GpuBlas> blas(new GpuBlas(gpu, api));
    const auto check = [](BlasStatus status, const char* call) -> Result<void> {
        if (status == BlasStatus::success) return {};
        return Error{ErrorCode::device, fmt::format("cuBLAS status {}", static_cast<int>(status)),
                     call, ""};
    };
    HOKKU_CHECK(check(api.create(&blas->handle_), "cublasCreate_v2"));
    // In this order: a stream comes with a workspace of the library's own.
    HOKKU_CHECK(check(api.set_stream(blas->handle_, gpu.stream()), "cublasSetStream_v2"));
    HOKKU_CHECK(check(
        api.set_workspace(blas->handle_, reinterpret_cast<void*>(workspace), kBlasWorkspaceBytes),
        "cublasSetWorkspace_v2"));
    return blas;
}

GpuBlas::~GpuBlas() {
    if (handle_ != nullptr && gpu_.make_current().ok()) api_.destroy(handle_);
}

DriverResult GpuBlas::multiply(const BlasProduct& product) const {
    switch (hokku::cuda::multiply(api_, handle_, product)) {
        case BlasStatus::success:
            return DriverResult::success;
        case BlasStatus::alloc_failed:
            return DriverResult::out_of_memory;
        case BlasStatus::invalid_value:
        case BlasStatus::not_supported:
            return DriverResult::invalid_value;
        default:
            return DriverResult::launch_failed;
    }
}

}  // namespace hokku::cuda
