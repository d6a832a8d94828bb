// SPDX-License-Identifier: Apache-2.0
// What a model takes on a device, and what of it no kernel computes; known before it is loaded.
#pragma once

#include <cstdint>

#include "hokku/kv_type.h"
#include "model/model.h"
#include "plugin/gpu.h"
#include "plugin/gpu_blas.h"

namespace hokku::cuda {

/// What a model takes on a device and what there is.
struct CudaPlan {
    uint64_t free_bytes = 0, total_bytes = 0;
    uint64_t weight_bytes = 0;
    uint64_t fixed_bytes = 0;     ///< Buffers, and what the driver needs for kernels and graphs.
    uint64_t kv_block_bytes = 0;  ///< Of each block, tables included.
};

/// Errors : unsupported: what the model asks for and kernels do not compute, by name.
Result<void> check_cuda_features(const ModelSpec& spec);

/// Errors : unsupported: a type of context that the kernels do not read.
Result<void> check_cuda_context(KvType kv_type);

/// Bytes of a KV block with its part of the tables.
uint64_t context_block_bytes(const ModelSpec& spec, KvType kv_type);

/// Errors : as check_cuda_features() and check_cuda_context(); device.
Result<CudaPlan> plan_cuda(const Gpu& gpu, const Model& model, KvType kv_type,
                           const BlasNeeds& blas);

}  // namespace hokku::cuda
