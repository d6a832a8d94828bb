// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <thread>

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

bool is_float_type(TensorType type) {
    return type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
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
        const std::array<WeightMatrix, 1> head = {weights_.head};
        HOKKU_TRY(plan_.weights.head, place_matrix(head, place_vector(weights_.head_bias)));
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
        if (spec.ffn.gated) {
            HOKKU_TRY(layer.gate, place_one(weights.gate, weights.b_gate));
        }
        HOKKU_TRY(layer.up, place_one(weights.up, weights.b_up));
        HOKKU_TRY(layer.down, place_one(weights.down, weights.b_down));
        layer.has_fused_gate = spec.ffn.gated && !layer.gate.is_float &&
                               layer.gate.type == layer.up.type &&
                               has_every_kernel(layer.gate.type);
        if (layer.has_fused_gate) {
            HOKKU_TRY(layer.gated_kernels, find_kernels("gated_gemv", layer.gate.type));
        }
        return layer;
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
        out.warps_per_row = choose_warps(out);
        plan_.uploads.push_back(std::move(upload));
        return out;
    }

    /// More warps for each row where there would be too few blocks to fill the device, as long as
    /// each lane has a step to do. The same for every number of vectors, so that they round alike.
    [[nodiscard]] uint32_t choose_warps(const GpuMatrix& matrix) const {
        const uint32_t rows_of_warp = matrix.is_float ? 1 : 2;
        const uint32_t step = 32 * (matrix.is_float ? 8 : kGroup);
        uint32_t warps = 1;
        while (warps < 8 && matrix.cols > warps * step &&
               matrix.rows / (8 / warps * rows_of_warp) < 4 * gpu_.num_multiprocessors()) {
            warps *= 2;
        }
        return warps;
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
        if (matrix.gemm == nullptr) return no_kernel(matrix.type);
        if (!has_every_kernel(matrix.type)) return {};
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

/// Repacks rows on several threads and copies them plane by plane.
class Uploader {
  public:
    Uploader(const Gpu& gpu, uint64_t total_bytes,
             const std::function<Result<void>(double)>& report)
        : gpu_(gpu), total_(std::max<uint64_t>(total_bytes, 1)), report_(report) {}

    Result<void> upload(const GpuUpload& upload) {
        if (!upload.vectors.empty()) return upload_vectors(upload);
        if (upload.matrices.empty()) return upload_table(upload);
        uint32_t rows = 0;
        for (const WeightMatrix& part : upload.matrices) rows += part.rows;
        const WeightMatrix& first = upload.matrices.front();
        const PlaneLayout layout =
            is_float_type(first.type) ? PlaneLayout{} : plane_layout(first.type, rows, first.cols);
        uint32_t row = 0;
        for (const WeightMatrix& part : upload.matrices) {
            HOKKU_CHECK(is_float_type(first.type)
                            ? upload_floats(part, upload.address + row * part.row_bytes())
                            : upload_planes(part, upload.address, layout, row));
            row += part.rows;
        }
        return {};
    }

  private:
    static constexpr size_t kPieceBytes = size_t{16} << 20;

    Result<void> copy(DevicePointer to, const void* from, size_t bytes) {
        if (bytes == 0) return {};
        return gpu_.check(gpu_.api().copy_to_device(to, from, bytes), "cuMemcpyHtoD_v2",
                          fmt::format("{} bytes of weights", bytes));
    }

    Result<void> advance(size_t bytes) {
        done_ += bytes;
        return report_(static_cast<double>(std::min(done_, total_)) / static_cast<double>(total_));
    }

    Result<void> upload_vectors(const GpuUpload& upload) {
        std::vector<float> values;
        for (const WeightVector& vector : upload.vectors) {
            const size_t first = values.size();
            values.resize(first + vector.size);
            if (vector) std::copy_n(vector.data, vector.size, values.data() + first);
        }
        return copy(upload.address, values.data(), values.size() * sizeof(float));
    }

    Result<void> upload_table(const GpuUpload& upload) {
        staging_.resize(table_bytes(upload.table_of));
        write_table(upload.table_of, staging_);
        return copy(upload.address, staging_.data(), staging_.size());
    }

    Result<void> upload_floats(const WeightMatrix& part, DevicePointer to) {
        const size_t row_bytes = part.row_bytes();
        const auto step = static_cast<uint32_t>(std::max<size_t>(kPieceBytes / row_bytes, 1));
        for (uint32_t row = 0; row < part.rows; row += step) {
            const uint32_t count = std::min(step, part.rows - row);
            staging_.resize(count * row_bytes);
            for (uint32_t i = 0; i < count; ++i) {
                std::memcpy(staging_.data() + i * row_bytes,
                            part.data + (row + i) * part.row_stride, row_bytes);
            }
            HOKKU_CHECK(copy(to + row * row_bytes, staging_.data(), staging_.size()));
            HOKKU_CHECK(advance(staging_.size()));
        }
        return {};
    }

    /// Rows [first_row, first_row + part.rows) of the planes.
    Result<void> upload_planes(const WeightMatrix& part, DevicePointer base,
                               const PlaneLayout& layout, uint32_t first_row) {
        const PlaneSizes sizes = plane_sizes(part.type);
        const size_t groups = part.cols / kGroup;
        const size_t row_bytes[4] = {groups * sizes.codes, groups * sizes.high,
                                     groups * sizes.scales, groups / 8 * sizes.supers};
        const size_t offsets[4] = {layout.codes, layout.high, layout.scales, layout.supers};
        const size_t all = row_bytes[0] + row_bytes[1] + row_bytes[2] + row_bytes[3];
        const auto step = static_cast<uint32_t>(std::max<size_t>(kPieceBytes / all, 1));
        for (uint32_t row = 0; row < part.rows; row += step) {
            const uint32_t count = std::min(step, part.rows - row);
            staging_.resize(count * all);
            std::byte* planes[4];
            size_t at = 0;
            for (size_t i = 0; i < 4; ++i) {
                planes[i] = staging_.data() + at;
                at += count * row_bytes[i];
            }
            repack(part, row, count, planes, row_bytes);
            for (size_t i = 0; i < 4; ++i) {
                HOKKU_CHECK(copy(base + offsets[i] + (first_row + row) * row_bytes[i], planes[i],
                                 count * row_bytes[i]));
            }
            HOKKU_CHECK(advance(count * all));
        }
        return {};
    }

    void repack(const WeightMatrix& part, uint32_t row, uint32_t count, std::byte* const* planes,
                const size_t* row_bytes) {
        const auto repack_part = [&](uint32_t begin, uint32_t end) {
            const auto plane = [&](size_t i) {
                return std::span(planes[i] + begin * row_bytes[i], (end - begin) * row_bytes[i]);
            };
            repack_rows(part.type, part.data + (row + begin) * part.row_stride, part.row_stride,
                        end - begin, part.cols, {plane(0), plane(1), plane(2), plane(3)});
        };
        // Threads cost more than they save where there is little to do.
        const uint32_t num_threads = count * row_bytes[0] < (size_t{1} << 20)
                                         ? 1
                                         : std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
        std::vector<std::thread> threads;
        for (uint32_t i = 1; i < num_threads; ++i) {
            threads.emplace_back(repack_part, count * i / num_threads,
                                 count * (i + 1) / num_threads);
        }
        repack_part(0, count / num_threads);
        for (std::thread& thread : threads) thread.join();
    }

    const Gpu& gpu_;
    uint64_t total_, done_ = 0;
    const std::function<Result<void>(double)>& report_;
    std::vector<std::byte> staging_;
};

}  // namespace

Result<GpuWeightPlan> plan_weights(const Model& model, const Gpu& gpu, DevicePointer base) {
    return WeightPlanner(model, gpu, base).run();
}

Result<void> upload_weights(const Gpu& gpu, const GpuWeightPlan& plan,
                            const std::function<Result<void>(double)>& report) {
    Uploader uploader(gpu, plan.weights.bytes, report);
    for (const GpuUpload& upload : plan.uploads) HOKKU_CHECK(uploader.upload(upload));
    return {};
}

}  // namespace hokku::cuda
