// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/try.h"
#include "weights/repack.h"

namespace hokku::cuda {

namespace {

/// "q4_k", as kernels are called.
std::string kernel_type_name(TensorType type) {
    switch (type) {
        case TensorType::f32:
            return "f32";
        case TensorType::f16:
            return "f16";
        case TensorType::bf16:
            return "bf16";
        default:
            return std::string(kernel_format(type));
    }
}

uint32_t persistent_format(TensorType type) {
    switch (type) {
        case TensorType::q4_k:
            return kPersistentQ4K;
        case TensorType::q6_k:
            return kPersistentQ6K;
        case TensorType::q8_0:
            return kPersistentQ8_0;
        case TensorType::q4_0:
            return kPersistentQ4_0;
        case TensorType::q5_0:
            return kPersistentQ5_0;
        default:
            return kNoPersistentFormat;
    }
}

class WeightPlanner {
  public:
    WeightPlanner(const Model& model, const Gpu& gpu, DevicePointer base)
        : spec_(model.spec()), weights_(model.weights()), gpu_(gpu), layout_(base) {}

    Result<GpuWeightPlan> run() {
        for (size_t i = 0; i < spec_.layers.size(); ++i) {
            HOKKU_TRY(GpuLayer layer, place_layer(spec_.layers[i], weights_.layers[i]));
            plan_.weights.layers.push_back(std::move(layer));
        }
        plan_.weights.final_norm = place_norm(weights_.final_norm);
        if (spec_.part.is_last) {
            HOKKU_TRY(plan_.weights.head, place_one(weights_.head, weights_.head_bias));
        }
        plan_.weights.bytes = layout_.used_bytes();
        return std::move(plan_);
    }

  private:
    Result<GpuLayer> place_layer(const LayerSpec& spec, const LayerWeights& weights) {
        GpuLayer layer;
        layer.mixer_norm = place_norm(weights.mixer_norm);
        layer.mixer_post_norm = place_norm(weights.mixer_post_norm);
        layer.ffn_norm = place_norm(weights.ffn_norm);
        layer.ffn_post_norm = place_norm(weights.ffn_post_norm);
        layer.q_norm = place_norm(weights.q_norm);
        layer.k_norm = place_norm(weights.k_norm);
        layer.sinks = place_vector(weights.sinks);
        HOKKU_CHECK(place_qkv(weights, layer));
        // A norm over all heads needs all of them.
        layer.has_fused_qkv = spec.attention()->qk_norm != QkNorm::whole;
        for (const GpuMatrix& matrix : layer.qkv) layer.has_fused_qkv &= matrix.qkv != nullptr;
        HOKKU_TRY(layer.o, place_one(weights.wo, weights.bo));
        const bool has_experts = spec.ffn.experts.has_value();
        if (has_experts) HOKKU_CHECK(place_experts(spec.ffn, weights, layer));
        if (!has_experts || spec.ffn.experts->shared_hidden > 0) {
            HOKKU_CHECK(place_ffn(spec.ffn, weights, layer));
        }
        return layer;
    }

    /// The dense one, or the shared expert.
    Result<void> place_ffn(const FfnSpec& spec, const LayerWeights& weights, GpuLayer& layer) {
        const bool is_shared = spec.experts.has_value();
        if (spec.gated) {
            HOKKU_TRY(layer.gate, is_shared ? place_one(weights.shared_gate, {})
                                            : place_one(weights.gate, weights.b_gate));
        }
        HOKKU_TRY(layer.up, is_shared ? place_one(weights.shared_up, {})
                                      : place_one(weights.up, weights.b_up));
        HOKKU_TRY(layer.down, is_shared ? place_one(weights.shared_down, {})
                                        : place_one(weights.down, weights.b_down));
        layer.has_fused_gate = spec.gated && spec.activation != hokku::Activation::swiglu_clamped &&
                               spec.activation != hokku::Activation::xielu &&
                               !layer.gate.is_float && layer.gate.type == layer.up.type &&
                               has_every_kernel(layer.gate.type);
        if (layer.has_fused_gate) {
            HOKKU_TRY(layer.gated_kernels, find_kernels("gated_gemv", layer.gate.type));
        }
        return {};
    }

    Result<void> place_experts(const FfnSpec& spec, const LayerWeights& weights, GpuLayer& layer) {
        HOKKU_TRY(layer.router, place_one(weights.router, weights.router_bias));
        layer.selection_bias = place_vector(weights.router_selection_bias);
        if (spec.experts->shared_gate) {
            HOKKU_TRY(layer.shared_router, place_one(weights.shared_router, {}));
        }
        if (spec.gated) {
            HOKKU_TRY(layer.expert_gate, place_all(weights.expert_gate, weights.b_expert_gate));
        }
        HOKKU_TRY(layer.expert_up, place_all(weights.expert_up, weights.b_expert_up));
        HOKKU_TRY(layer.expert_down, place_all(weights.expert_down, weights.b_expert_down));
        return {};
    }

    Result<GpuExperts> place_all(const std::vector<WeightMatrix>& matrices,
                                 const std::vector<WeightVector>& biases) {
        const float* bias = nullptr;
        if (!biases.empty()) {
            GpuUpload upload;
            upload.vectors = biases;
            bias = place_vectors(std::move(upload));
        }
        GpuExperts out;
        HOKKU_TRY(out.matrix, place_matrix(matrices, bias));
        out.rows = matrices.front().rows;
        GpuMatrix one = out.matrix;
        one.rows = out.rows;
        out.matrix.warps_per_row = choose_warps_per_row(one, gpu_.num_multiprocessors());
        const std::string name = kernel_type_name(out.matrix.type);
        out.matrix.kernels[0] = gpu_.find_function("expert_" + name);
        out.matrix.gemm = gpu_.find_function("expert_gemm_" + name);
        if (out.matrix.kernels[0] == nullptr ||
            (out.matrix.gemm == nullptr && !out.matrix.is_float)) {
            return no_kernel(out.matrix.type);
        }
        return out;
    }

    /// Neighbours of the same type become one launch.
    Result<void> place_qkv(const LayerWeights& weights, GpuLayer& layer) {
        const WeightMatrix* parts[3] = {&weights.wq, &weights.wk, &weights.wv};
        WeightVector biases[3] = {weights.bq, weights.bk, weights.bv};
        const bool has_bias = biases[0] || biases[1] || biases[2];
        const float* bias = nullptr;
        if (has_bias) {
            GpuUpload upload;
            for (size_t i = 0; i < 3; ++i) {
                biases[i].size = parts[i]->rows;
                upload.vectors.push_back(biases[i]);
            }
            bias = place_vectors(std::move(upload));
        }
        size_t first = 0, row = 0;
        while (first < 3) {
            size_t end = first + 1;
            while (end < 3 && parts[end]->type == parts[first]->type) ++end;
            std::vector<WeightMatrix> group;
            for (size_t i = first; i < end; ++i) group.push_back(*parts[i]);
            HOKKU_TRY(GpuMatrix matrix, place_matrix(group, has_bias ? bias + row : nullptr));
            row += matrix.rows;
            layer.qkv.push_back(matrix);
            first = end;
        }
        return {};
    }

    Result<GpuMatrix> place_one(const WeightMatrix& matrix, const WeightVector& bias) {
        return place_matrix({&matrix, 1}, place_vector(bias));
    }

    Result<GpuMatrix> place_matrix(std::span<const WeightMatrix> parts, const float* bias) {
        GpuMatrix out;
        out.type = parts.front().type;
        out.cols = parts.front().cols;
        for (const WeightMatrix& part : parts) out.rows += part.rows;
        out.is_float = is_float_type(out.type);
        out.bias = bias;
        const uint32_t multiple = out.is_float ? 8 : traits_of(out.type).block_values;
        if (!out.is_float && !can_repack(out.type)) return no_kernel(out.type);
        if (out.cols % multiple != 0) {
            return Error{
                ErrorCode::unsupported,
                fmt::format("a matrix of {} has {} columns", traits_of(out.type).name, out.cols),
                fmt::format("GPU, architecture {}", spec_.architecture),
                fmt::format("a multiple of {}", multiple)};
        }
        HOKKU_TRY(out.kernels, find_kernels("gemv", out.type));
        if (!out.is_float) HOKKU_CHECK(find_more_kernels(out));
        GpuUpload upload;
        upload.matrices.assign(parts.begin(), parts.end());
        if (out.is_float) {
            const auto* data =
                layout_.take<std::byte>(size_t{out.rows} * parts.front().row_bytes());
            out.data = data;
            upload.address = reinterpret_cast<DevicePointer>(data);
        } else {
            const PlaneLayout planes = plane_layout(out.type, out.rows, out.cols);
            upload.address = reinterpret_cast<DevicePointer>(layout_.take<uint8_t>(planes.bytes));
            const auto at = [&](size_t offset) { return upload.address + offset; };
            out.planes = {reinterpret_cast<const uint8_t*>(at(planes.codes)),
                          reinterpret_cast<const uint32_t*>(at(planes.high)),
                          reinterpret_cast<const void*>(at(planes.scales)),
                          reinterpret_cast<const uint32_t*>(at(planes.supers)),
                          out.rows,
                          out.cols / kGroup};
            if (table_bytes(out.type) > 0) {
                out.planes.table = reinterpret_cast<decltype(out.planes.table)>(at(planes.table));
                plan_.uploads.push_back({.matrices = {},
                                         .vectors = {},
                                         .table_of = out.type,
                                         .address = upload.address + planes.table});
            }
        }
        out.warps_per_row = choose_warps_per_row(out, gpu_.num_multiprocessors());
        plan_.uploads.push_back(std::move(upload));
        return out;
    }

    [[nodiscard]] Error no_kernel(TensorType type) const {
        return {ErrorCode::unsupported,
                fmt::format("there is no GPU kernel for weights of type {}", traits_of(type).name),
                fmt::format("GPU, architecture {}", spec_.architecture), ""};
    }

    Result<std::array<FunctionHandle, kNumBuckets>> find_kernels(const char* stem,
                                                                 TensorType type) const {
        std::array<FunctionHandle, kNumBuckets> out = {};
        const bool has_every = is_float_type(type) || has_every_kernel(type);
        for (uint32_t i = 0; i < kNumBuckets; ++i) {
            const uint32_t vectors = has_every || i == 0 ? 1u << i : kMaxRows;
            out[i] =
                gpu_.find_function(fmt::format("{}_{}_{}", stem, kernel_type_name(type), vectors));
            if (out[i] == nullptr) return no_kernel(type);
        }
        return out;
    }

    Result<void> find_more_kernels(GpuMatrix& matrix) const {
        const std::string name = kernel_type_name(matrix.type);
        matrix.gemm = gpu_.find_function("gemm_" + name);
        matrix.dequantize = gpu_.find_function("dequantize_" + name);
        if (matrix.gemm == nullptr || matrix.dequantize == nullptr) return no_kernel(matrix.type);
        if (!has_every_kernel(matrix.type)) return {};
        matrix.persistent_format = persistent_format(matrix.type);
        matrix.qkv = gpu_.find_function("qkv_" + name);
        matrix.gemv_norm = gpu_.find_function("gemv_norm_" + name);
        return {};
    }

    GpuNorm place_norm(const NormWeights& norm) {
        return {place_vector(norm.weight), place_vector(norm.bias)};
    }

    const float* place_vector(const WeightVector& vector) {
        if (!vector) return nullptr;
        GpuUpload upload;
        upload.vectors.push_back(vector);
        return place_vectors(std::move(upload));
    }

    const float* place_vectors(GpuUpload upload) {
        size_t size = 0;
        for (const WeightVector& vector : upload.vectors) size += vector.size;
        const auto* place = layout_.take<float>(size);
        upload.address = reinterpret_cast<DevicePointer>(place);
        plan_.uploads.push_back(std::move(upload));
        return place;
    }

    const ModelSpec& spec_;
    const Weights& weights_;
    const Gpu& gpu_;
    GpuLayout layout_;
    GpuWeightPlan plan_;
};

}  // namespace

NextWeights next_weights(const GpuMatrix& matrix, size_t most) {
    constexpr size_t kLineBytes = 128;
    const auto* plane = matrix.planes.codes;
    size_t bytes = size_t{matrix.planes.rows} * matrix.planes.groups;
    if (matrix.is_float) {
        const TensorTypeTraits& traits = traits_of(matrix.type);
        plane = static_cast<const uint8_t*>(matrix.data);
        bytes = size_t{matrix.rows} * matrix.cols * traits.block_bytes;
    } else {
        bytes *= plane_sizes(matrix.type).codes;
    }
    return {{plane, nullptr}, static_cast<uint32_t>(std::min(bytes, most) / kLineBytes)};
}

uint32_t choose_warps_per_row(const GpuMatrix& matrix, uint32_t num_multiprocessors) {
    const uint32_t rows_of_warp = matrix.is_float ? 1 : 2;
    const uint32_t step = 32 * (matrix.is_float ? 8 : kGroup);
    uint32_t warps = 1;
    while (warps < 8 && matrix.cols > warps * step &&
           matrix.rows / (8 / warps * rows_of_warp) < 4 * num_multiprocessors) {
        warps *= 2;
    }
    return warps;
}

Result<GpuWeightPlan> plan_weights(const Model& model, const Gpu& gpu, DevicePointer base) {
    return WeightPlanner(model, gpu, base).run();
}

}  // namespace hokku::cuda
