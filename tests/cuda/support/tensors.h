// SPDX-License-Identifier: Apache-2.0
// Activations and weights on the test device, in the forms that kernels take them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backend/quant_blocks.h"
#include "cuda/support/device.h"
#include "kernels/params.h"
#include "weights/repack.h"

namespace hokku::testing {

/// Normally distributed, one in a hundred six times as large, as real activations are.
inline std::vector<float> activations(size_t n, uint32_t seed, float scale = 1.0f) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) {
        value = scale * normal(random) * (random() % 100 == 0 ? 6.0f : 1.0f);
    }
    return values;
}

/// "gemm", q4_k: gemm_q4_k.
inline std::string kernel_name(const std::string& kernel, TensorType type) {
    return kernel + "_" + std::string(cuda::kernel_format(type));
}

/// Types of which cuda::has_every_kernel is not true.
inline constexpr TensorType kRareTypes[] = {
    TensorType::iq1_s, TensorType::iq1_m,   TensorType::iq2_xxs, TensorType::iq2_xs,
    TensorType::iq2_s, TensorType::iq3_xxs, TensorType::iq3_s,   TensorType::nvfp4,
    TensorType::tq1_0, TensorType::tq2_0,   TensorType::q2_0,    TensorType::q1_0};

/// A product in double precision, and what its float32 error is measured by: a unit of float32 for
/// each of the few roundings of a group's terms.
struct Product {
    double sum = 0, magnitude = 0;
    void add(float value, double size) {
        sum += double{value};
        magnitude += size;
    }
};

inline Product exact_product(const float* w, const double* x, uint32_t n) {
    Product out;
    for (uint32_t first = 0; first < n; first += cuda::kGroup) {
        double largest = 0, x_sum = 0;
        for (uint32_t i = first; i < first + cuda::kGroup; ++i) {
            out.sum += double{w[i]} * x[i];
            largest = std::max(largest, std::abs(double{w[i]}));
            x_sum += std::abs(x[i]);
        }
        out.magnitude += largest * x_sum;
    }
    return out;
}

/// int8 vectors on the device.
class QuantizedBuffer {
  public:
    QuantizedBuffer(uint32_t num_vectors, uint32_t n)
        : num_vectors_(num_vectors),
          groups_((n + cuda::kGroup - 1) / cuda::kGroup),
          codes_(size_t{num_vectors} * groups_ * cuda::kGroup),
          scales_(size_t{num_vectors} * groups_) {}
    [[nodiscard]] cuda::QuantizedVectors view() const {
        return {codes_.pointer(), scales_.pointer(), groups_, num_vectors_};
    }
    [[nodiscard]] std::vector<int8_t> codes() const { return codes_.read(); }
    [[nodiscard]] std::vector<cuda::GroupScale> scales() const { return scales_.read(); }
    /// code * scale of all values, [num_vectors][groups * 32]
    [[nodiscard]] std::vector<double> values() const {
        const std::vector<int8_t> codes = codes_.read();
        const std::vector<cuda::GroupScale> scales = scales_.read();
        std::vector<double> out(codes.size());
        for (size_t i = 0; i < out.size(); ++i) {
            out[i] = double{scales[i / cuda::kGroup].scale} * codes[i];
        }
        return out;
    }

  private:
    uint32_t num_vectors_, groups_;
    DeviceBuffer<int8_t> codes_;
    DeviceBuffer<cuda::GroupScale> scales_;
};

/// x [num_vectors][n], quantised by the kernel of that name.
inline void quantize(const std::vector<float>& x, uint32_t n, const QuantizedBuffer& out) {
    const DeviceBuffer<float> device_x(x);
    const cuda::QuantizedVectors view = out.view();
    TestDevice::get().run(
        "quantize_rows",
        {.grid_x = (view.groups + 7) / 8, .grid_y = view.num_vectors, .num_threads = 256},
        cuda::QuantizeParams{device_x.pointer(), view, n, n});
}

/// A matrix of random blocks, repacked.
class RepackedMatrix {
  public:
    RepackedMatrix(TensorType type, uint32_t rows, uint32_t cols, BlockKind kind, uint32_t seed)
        : host_(type, rows, cols, kind, seed),
          layout_(cuda::plane_layout(type, rows, cols)),
          planes_(layout_.bytes) {
        std::vector<uint8_t> bytes(layout_.bytes);
        const auto plane = [&](size_t offset) {
            return std::span(reinterpret_cast<std::byte*>(bytes.data()) + offset,
                             bytes.size() - offset);
        };
        const WeightMatrix& weight = host_.weight();
        cuda::repack_rows(type, weight.data, weight.row_stride, rows, cols,
                          {plane(layout_.codes), plane(layout_.high), plane(layout_.scales),
                           plane(layout_.supers)});
        cuda::write_table(type, plane(layout_.table).first(cuda::table_bytes(type)));
        planes_.write(bytes);
    }
    [[nodiscard]] cuda::WeightPlanes view() const {
        uint8_t* base = planes_.pointer();
        return {base + layout_.codes,  reinterpret_cast<const uint32_t*>(base + layout_.high),
                base + layout_.scales, reinterpret_cast<const uint32_t*>(base + layout_.supers),
                host_.weight().rows,   host_.weight().cols / cuda::kGroup,
                base + layout_.table};
    }
    /// [rows][cols] as the file has them.
    [[nodiscard]] const std::vector<float>& values() const { return host_.values(); }

  private:
    GuardedMatrix host_;
    cuda::PlaneLayout layout_;
    DeviceBuffer<uint8_t> planes_;
};

}  // namespace hokku::testing
