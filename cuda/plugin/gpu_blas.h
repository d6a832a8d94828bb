// SPDX-License-Identifier: Apache-2.0
// GpuBlas: cuBLAS on a device's stream, for the products of prompts with weights that are not
// quantised; and, where that is wanted, with all of them, as what our own kernels are measured by.
// What it computes and how rows lie is said in driver/blas_api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "driver/blas_api.h"
#include "model/model.h"
#include "plugin/gpu.h"

namespace hokku::cuda {

/// Rows of a prompt that one product takes, fewer being filled up: products of one shape are
/// computed in one way, so that a row's digits do not depend on how many there are.
inline constexpr uint32_t kBlasRows = 128;
/// What the library works in. Source: the cuBLAS documentation recommends 32 MiB from sm_90 on.
inline constexpr size_t kBlasWorkspaceBytes = size_t{32} << 20;
/// What it takes of the device beside.
inline constexpr uint64_t kBlasDriverBytes = uint64_t{96} << 20;

/// How the rows of prompts are multiplied.
enum class PrefillProducts : uint8_t {
    own,        ///< By our kernels; what is not quantised by the library, where there is one.
    reference,  ///< All by the library, quantised weights as halves.
};

/// Memory of a model's products by the library.
struct BlasNeeds {
    bool is_used = false;
    uint32_t max_cols = 0;     ///< Of halves of activations.
    size_t matrix_values = 0;  ///< Of the largest matrix that becomes halves.
};

/// `has_library`: there is one.
BlasNeeds blas_needs(const Model& model, PrefillProducts products, bool has_library);

/// Threads: as Gpu.
class GpuBlas {
  public:
    /// Errors : device, unsupported.
    static Result<std::unique_ptr<GpuBlas>> create(const Gpu& gpu, const BlasApi& api,
                                                   DevicePointer workspace);
    GpuBlas(const GpuBlas&) = delete;
    GpuBlas& operator=(const GpuBlas&) = delete;
    ~GpuBlas();
    /// Into the stream.
    DriverResult multiply(const BlasProduct& product) const;

  private:
    GpuBlas(const Gpu& gpu, const BlasApi& api) : gpu_(gpu), api_(api) {}
    const Gpu& gpu_;
    BlasApi api_;
    BlasHandle handle_ = nullptr;
};

}  // namespace hokku::cuda
