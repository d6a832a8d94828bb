// SPDX-License-Identifier: Apache-2.0
// The way of weights to the device: repacked piece by piece, copied plane by plane.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <thread>

#include "base/try.h"
#include "plugin/gpu_weights.h"
#include "weights/repack.h"

namespace hokku::cuda {

namespace {

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

Result<void> upload_weights(const Gpu& gpu, const GpuWeightPlan& plan,
                            const std::function<Result<void>(double)>& report) {
    Uploader uploader(gpu, plan.weights.bytes, report);
    for (const GpuUpload& upload : plan.uploads) HOKKU_CHECK(uploader.upload(upload));
    return {};
}

}  // namespace hokku::cuda
