// SPDX-License-Identifier: Apache-2.0
// GpuWeights: where the weights of a model lie on a device, the kernels that multiply them, and
// their way there: planned first, so that the size is known before anything is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/params.h"
#include "model/model.h"
#include "plugin/gpu.h"
#include "plugin/gpu_buffers.h"
#include "plugin/launch_size.h"

namespace hokku::cuda {

/// Rows that are computed together: kernels exist for 1, 2, 4 and 8.
inline constexpr uint32_t kNumBuckets = 4;
/// Which of them takes num_rows.
constexpr uint32_t bucket_of(uint32_t num_rows) {
    uint32_t bucket = 0;
    while (1u << bucket < num_rows) ++bucket;
    return bucket;
}

constexpr bool is_float_type(TensorType type) {
    return type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
}

/// Rows of one weight type that one launch multiplies.
struct GpuMatrix {
    TensorType type = TensorType::f32;
    uint32_t rows = 0, cols = 0;
    bool is_float = false;  ///< Not quantised: the input is float32.
    WeightPlanes planes = {};
    const void* data = nullptr;  ///< Of one that is_float.
    const float* bias = nullptr;
    uint32_t warps_per_row = 1;
    std::array<FunctionHandle, kNumBuckets> kernels = {};
    uint32_t persistent_format = kNoPersistentFormat;
    FunctionHandle gemm = nullptr, dequantize = nullptr;  ///< Of one that is quantised.
    FunctionHandle qkv = nullptr, gemv_norm = nullptr;    ///< Fused ones, or null.
    explicit operator bool() const { return rows > 0; }
};

/// The first of its weights, at most so many bytes.
NextWeights next_weights(const GpuMatrix& matrix, size_t most);

/// One matrix of all experts of a layer, one behind the other.
struct GpuExperts {
    GpuMatrix matrix;   ///< Its kernels: expert_<format> and, quantised, expert_gemm_<format>.
    uint32_t rows = 0;  ///< Of each expert.
};

struct GpuNorm {
    const float* weight = nullptr;
    const float* bias = nullptr;
    explicit operator bool() const { return weight != nullptr; }
};

struct GpuLayer {
    GpuNorm mixer_norm, mixer_post_norm, ffn_norm, ffn_post_norm, q_norm, k_norm;
    std::vector<GpuMatrix> qkv;  ///< Outputs lie one behind the other.
    bool has_fused_qkv = false;  ///< Kernels that rotate and append exist for all of them.
    GpuMatrix o;
    const float* sinks = nullptr;
    /// Gate and up of the same quantised type are one launch, else two and an activation.
    bool has_fused_gate = false;
    std::array<FunctionHandle, kNumBuckets> gated_kernels = {};
    GpuMatrix gate, up, down;  ///< Of the dense FFN, or of the shared expert.
    // Of layers with experts.
    GpuMatrix router, shared_router;
    const float* selection_bias = nullptr;
    GpuExperts expert_gate, expert_up, expert_down;
};

struct GpuWeights {
    std::vector<GpuLayer> layers;
    GpuNorm final_norm;
    GpuMatrix head;
    uint64_t bytes = 0;  ///< On the device.
};

/// Something of the file that goes to an address on the device.
struct GpuUpload {
    std::vector<WeightMatrix> matrices;     ///< Of one type, rows one behind the other.
    std::vector<WeightVector> vectors;      ///< One behind the other; those without data are zeros.
    TensorType table_of = TensorType::f32;  ///< Where both are empty: the codebook of this type.
    DevicePointer address = 0;
};

struct GpuWeightPlan {
    GpuWeights weights;
    std::vector<GpuUpload> uploads;
};

/// More warps for each row where there would be too few blocks to fill the device, as long as each
/// lane has a step to do. The same for every number of vectors, so that they round alike.
uint32_t choose_warps_per_row(const GpuMatrix& matrix, uint32_t num_multiprocessors);

/// Lays out everything from `base` on. With base 0 only sizes mean anything.
///
/// Errors : unsupported, naming the weight type that has no kernel.
Result<GpuWeightPlan> plan_weights(const Model& model, const Gpu& gpu, DevicePointer base);

/// Brings the weights to the device. `report` gets the share that is done; an error of its own
/// ends the way.
Result<void> upload_weights(const Gpu& gpu, const GpuWeightPlan& plan,
                            const std::function<Result<void>(double)>& report);

}  // namespace hokku::cuda
