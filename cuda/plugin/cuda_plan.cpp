// SPDX-License-Identifier: Apache-2.0
#include "plugin/cuda_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/backend.h"
#include "base/try.h"
#include "plugin/gpu_buffers.h"
#include "plugin/gpu_weights.h"
#include "plugin/kv_memory.h"

namespace hokku::cuda {

namespace {

/// What the driver takes for kernels, graphs and their launches, beside what is asked for.
constexpr uint64_t kDriverBytes = uint64_t{192} << 20;

uint64_t rope_bytes_of_block(const ModelSpec& spec) {
    uint64_t bytes = 0;
    for (const RopeSpec& rope : spec.ropes) {
        bytes += uint64_t{kKvBlockTokens} * rope.num_dims * sizeof(float);
    }
    return bytes;
}

}  // namespace

Result<void> check_cuda_features(const ModelSpec& spec) {
    const auto refuse = [&](const std::string& feature) {
        return Error{ErrorCode::unsupported, "GPUs do not compute " + feature,
                     "architecture " + spec.architecture, ""};
    };
    if (spec.per_layer_input) return refuse("per-layer embeddings");
    if (spec.altup) return refuse("alternating updates");
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec* attention = layer.attention();
        if (attention == nullptr) return refuse("mixers other than softmax attention");
        if (attention->has_output_gate) return refuse("gated attention outputs");
        if (attention->value_norm) return refuse("norms of values");
        if (attention->keys_are_values) return refuse("keys that are values");
        if (attention->kv_from_layer >= 0) return refuse("KV shared between layers");
        const uint32_t largest = std::max(attention->key_dim, attention->value_dim);
        if (largest > 256 || (attention->key_dim | attention->value_dim) % 8 != 0) {
            return refuse(
                fmt::format("heads of {} and {} values", attention->key_dim, attention->value_dim));
        }
        if (layer.has_output_scale) return refuse("scaled layer outputs");
        if (layer.ffn.experts) {
            if (layer.ffn.experts->beside_dense) return refuse("experts beside a dense FFN");
            if (layer.ffn.experts->scaled_router) return refuse("scaled routers");
            if (layer.ffn.experts->num_experts > kMaxExperts) {
                return refuse(fmt::format("{} experts", layer.ffn.experts->num_experts));
            }
        }
        if (layer.ffn.sparsity != 0) return refuse("sparse activations");
    }
    return {};
}

Result<void> check_cuda_context(KvType kv_type) {
    switch (kv_type) {
        case KvType::f32:
        case KvType::f16:
        case KvType::q8_0:
            return {};
        case KvType::q4_0:
            break;
    }
    return Error{ErrorCode::unsupported,
                 fmt::format("GPUs do not keep a context of type {}", kv_type_name(kv_type)),
                 "KV type", "q8_0 or f16 there, or the CPU"};
}

uint64_t context_block_bytes(const ModelSpec& spec, KvType kv_type) {
    return KvMemory::block_bytes(spec, kv_type) + rope_bytes_of_block(spec) +
           (2 * kMaxRows - 1 + kPrefillRows) * sizeof(uint32_t);
}

Result<CudaPlan> plan_cuda(const Gpu& gpu, const Model& model, KvType kv_type,
                           const BlasNeeds& blas) {
    const ModelSpec& spec = model.spec();
    HOKKU_CHECK(check_cuda_features(spec));
    HOKKU_CHECK(check_cuda_context(kv_type));
    HOKKU_CHECK(gpu.make_current());
    HOKKU_TRY(const GpuWeightPlan weights, plan_weights(model, gpu, 0));
    HOKKU_TRY(const GpuMemoryInfo memory, gpu.memory_info());
    CudaPlan plan;
    plan.free_bytes = memory.free_bytes;
    plan.total_bytes = memory.total_bytes;
    plan.weight_bytes = weights.weights.bytes;
    GpuLayout layout;
    GpuBuffers::lay_out(layout, spec, kPrefillRows, blas);
    for (uint32_t bucket = 0; bucket < kNumBuckets; ++bucket) {
        StepInput::lay_out(layout, 1u << bucket, 1, spec.dim);
    }
    StepInput::lay_out(layout, kPrefillRows, 1, spec.dim);
    plan.fixed_bytes = layout.used_bytes() + kDriverBytes + (blas.is_used ? kBlasDriverBytes : 0);
    // A spare block is made of the room that is left beside.
    plan.kv_block_bytes = context_block_bytes(spec, kv_type);
    plan.fixed_bytes += plan.kv_block_bytes;
    return plan;
}

}  // namespace hokku::cuda
