// SPDX-License-Identifier: Apache-2.0
// measure_device IMAGE..: how fast the first GPU copies, and how near the kernels of decoding come
// to that; and what the products of prompts compute. One JSON object. Without images the emulator,
// with tiny sizes, which shows that the program works and nothing of speed.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/round_up.h"
#include "emulation/fakes/fake_driver.h"
#include "plugin/gpu.h"
#include "plugin/gpu_launcher.h"
#include "plugin/gpu_weights.h"
#include "plugin/kv_memory.h"
#include "weights/repack.h"

namespace hokku::cuda {
namespace {

template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message());
    return std::move(result).value();
}
void require(const Result<void>& result) {
    if (!result.ok()) throw std::runtime_error(result.error().message());
}

class Measurement {
  public:
    explicit Measurement(const std::vector<std::string>& paths) : is_quick_(paths.empty()) {
        if (is_quick_) {
            emulation::FakeDriver::reset();
            library_ = std::make_unique<emulation::FakeDriverSymbols>();
            images_.emplace_back(emulation::kEmulatedImage);
        } else {
            library_ = take(open_library(driver_library_names()));
        }
        for (const std::string& path : paths) {
            std::ifstream file(path, std::ios::binary);
            images_.emplace_back(std::istreambuf_iterator<char>(file),
                                 std::istreambuf_iterator<char>());
            if (images_.back().empty()) throw std::runtime_error(path + " cannot be read");
        }
        const DriverApi api = take(load_driver_api(*library_));
        take(list_gpus(api));
        std::vector<const void*> images;
        for (const std::string& image : images_) images.push_back(image.data());
        gpu_ = take(Gpu::open(api, 0, images));
        launcher_ = std::make_unique<GpuLauncher>(*gpu_);
        // More than any cache holds.
        memory_ = take(gpu_->allocate(is_quick_ ? size_t{8} << 20 : size_t{2} << 30, "weights"));
        others_ = take(gpu_->allocate(is_quick_ ? size_t{8} << 20 : size_t{512} << 20, "vectors"));
        require(gpu_->check(gpu_->api().fill_bytes_async(memory_.address(), 0x35,
                                                         memory_.size_bytes(), gpu_->stream()),
                            "cuMemsetD8Async"));
        require(gpu_->check(gpu_->api().fill_bytes_async(others_.address(), 0, others_.size_bytes(),
                                                         gpu_->stream()),
                            "cuMemsetD8Async"));
        require(gpu_->synchronize());
    }

    void run() {
        std::printf("{\"name\": \"%s\", \"architecture\": %d, \"multiprocessors\": %u,\n",
                    gpu_->info().name.c_str(), gpu_->info().architecture,
                    gpu_->num_multiprocessors());
        measure_copy();
        std::printf(" \"copy_gb_s\": %.1f, \"kernels\": [", copy_gb_s_);
        const uint32_t rows = is_quick_ ? 64 : 14336, cols = is_quick_ ? 256 : 4096;
        for (const TensorType type : {TensorType::q4_k, TensorType::q6_k, TensorType::q8_0,
                                      TensorType::q4_0, TensorType::q5_k}) {
            for (const uint32_t vectors : {1u, 2u, 4u, 8u}) measure_gemv(type, rows, cols, vectors);
            measure_gemv(type, cols, rows / 256 * 256 + (is_quick_ ? 256 : 0), 1);
            measure_gemm(type, rows, cols, is_quick_ ? 16 : kPrefillRows);
        }
        for (const KvType type : {KvType::f16, KvType::q8_0}) measure_attention(type);
        std::printf("]}\n");
    }

  private:
    /// Seconds of one call, of as many as take a few milliseconds.
    double seconds_of(const std::function<void(uint32_t round)>& call) {
        const uint32_t rounds = is_quick_ ? 2 : 50;
        EventHandle start = nullptr, end = nullptr;
        const DriverApi& api = gpu_->api();
        require(gpu_->check(api.event_create(&start, 0), "cuEventCreate"));
        require(gpu_->check(api.event_create(&end, 0), "cuEventCreate"));
        for (uint32_t i = 0; i < rounds / 5 + 1; ++i) call(i);
        require(gpu_->check(api.event_record(start, gpu_->stream()), "cuEventRecord"));
        for (uint32_t i = 0; i < rounds; ++i) call(i);
        require(launcher_->finish());
        require(gpu_->check(api.event_record(end, gpu_->stream()), "cuEventRecord"));
        require(gpu_->check(api.event_synchronize(end), "cuEventSynchronize"));
        float ms = 0;
        require(gpu_->check(api.event_elapsed(&ms, start, end), "cuEventElapsedTime"));
        api.event_destroy(start);
        api.event_destroy(end);
        return std::max(double{ms}, 1e-6) / 1e3 / rounds;
    }

    void measure_copy() {
        const size_t half = memory_.size_bytes() / 2;
        const double seconds = seconds_of([&](uint32_t) {
            launcher_->fail(gpu_->api().copy_on_device_async(
                                memory_.address() + half, memory_.address(), half, gpu_->stream()),
                            "cuMemcpyDtoDAsync_v2");
        });
        copy_gb_s_ = 2.0 * static_cast<double>(half) / seconds / 1e9;
    }

    FunctionHandle find(const std::string& name) const {
        FunctionHandle function = gpu_->find_function(name);
        if (function == nullptr) throw std::runtime_error("there is no kernel " + name);
        return function;
    }

    /// One of several matrices of that shape that lie one behind the other.
    [[nodiscard]] WeightPlanes planes_of(const PlaneLayout& layout, uint32_t rows, uint32_t cols,
                                         uint32_t round) const {
        const size_t bytes = (layout.bytes + 255) / 256 * 256;
        const size_t count = std::max<size_t>(memory_.size_bytes() / bytes, 1);
        const DevicePointer base = memory_.address() + round % count * bytes;
        return {reinterpret_cast<const uint8_t*>(base + layout.codes),
                reinterpret_cast<const uint32_t*>(base + layout.high),
                reinterpret_cast<const void*>(base + layout.scales),
                reinterpret_cast<const uint32_t*>(base + layout.supers),
                rows,
                cols / kGroup};
    }

    struct Vectors {
        QuantizedVectors x;
        float* out;
    };
    [[nodiscard]] Vectors vectors_of(uint32_t rows, uint32_t cols, uint32_t num_vectors) const {
        GpuLayout layout(others_.address());
        Vectors vectors{{}, layout.take<float>(size_t{num_vectors} * rows)};
        vectors.x.groups = cols / kGroup;
        vectors.x.num_vectors = num_vectors;
        vectors.x.codes = layout.take<int8_t>(size_t{num_vectors} * cols);
        vectors.x.scales = layout.take<GroupScale>(size_t{num_vectors} * cols / kGroup);
        return vectors;
    }

    void measure_gemv(TensorType type, uint32_t rows, uint32_t cols, uint32_t num_vectors) {
        const std::string name =
            "gemv_" + std::string(kernel_format(type)) + "_" + std::to_string(num_vectors);
        const FunctionHandle kernel = find(name);
        const PlaneLayout layout = plane_layout(type, rows, cols);
        const Vectors vectors = vectors_of(rows, cols, num_vectors);
        GpuMatrix matrix;
        matrix.rows = rows;
        matrix.cols = cols;
        const uint32_t warps = choose_warps_per_row(matrix, gpu_->num_multiprocessors());
        const double seconds = seconds_of([&](uint32_t round) {
            launcher_->launch(kernel, {.grid_x = ceil_div(rows, 8 / warps * 2), .num_threads = 256},
                              GemvParams{planes_of(layout, rows, cols, round), vectors.x, nullptr,
                                         nullptr, vectors.out, rows, warps});
        });
        report(name, rows, cols, seconds, static_cast<double>(layout.bytes), 0);
    }

    void measure_gemm(TensorType type, uint32_t rows, uint32_t cols, uint32_t num_vectors) {
        const std::string name = "gemm_" + std::string(kernel_format(type));
        const FunctionHandle kernel = find(name);
        const PlaneLayout layout = plane_layout(type, rows, cols);
        const Vectors vectors = vectors_of(rows, cols, num_vectors);
        const double seconds = seconds_of([&](uint32_t round) {
            launcher_->launch(kernel,
                              {.grid_x = ceil_div(num_vectors, kGemmVectors),
                               .grid_y = ceil_div(rows, kGemmRows),
                               .num_threads = 256},
                              GemmParams{planes_of(layout, rows, cols, round), vectors.x, nullptr,
                                         nullptr, vectors.out, rows});
        });
        report(name, rows, cols, seconds, 0, 2.0 * rows * cols * num_vectors);
    }

    /// One row of 32 heads of 128 over 8 KV heads, at the end of a context.
    void measure_attention(KvType type) {
        const uint32_t num_blocks = is_quick_ ? 2 : 512, kv_heads = is_quick_ ? 1 : 8;
        const uint32_t dim = 128, heads = 4 * kv_heads, format = type == KvType::f16 ? 1 : 2;
        const uint32_t blocks_of_split = std::max((num_blocks + kMaxSplits - 1) / kMaxSplits, 2u);
        const uint32_t num_splits = ceil_div(num_blocks, blocks_of_split);
        GpuLayout layout(others_.address());
        auto* positions = layout.take<uint32_t>(1);
        auto* tables = layout.take<uint32_t>(num_blocks);
        auto* q = layout.take<float>(heads * dim);
        auto* sums = layout.take<float>(size_t{heads} * num_splits * dim);
        auto* maxima = layout.take<float>(size_t{heads} * num_splits);
        auto* weights = layout.take<float>(size_t{heads} * num_splits);
        std::vector<uint32_t> table(num_blocks);
        for (uint32_t i = 0; i < num_blocks; ++i) table[i] = i;
        const uint32_t last = num_blocks * kKvPositions - 1;
        const auto copy = [&](uint32_t* to, const uint32_t* from, size_t count) {
            require(gpu_->check(gpu_->api().copy_to_device(reinterpret_cast<DevicePointer>(to),
                                                           from, count * sizeof *from),
                                "cuMemcpyHtoD_v2"));
        };
        copy(tables, table.data(), table.size());
        copy(positions, &last, 1);
        require(gpu_->finish_copies());
        const size_t bytes = kv_head_bytes(format, dim) * kv_heads * num_blocks;
        KvPool kv{reinterpret_cast<void*>(memory_.address()),
                  reinterpret_cast<void*>(memory_.address() + bytes),
                  tables,
                  num_blocks,
                  kv_heads,
                  dim,
                  dim,
                  format};
        const std::string name = "attention_" + std::string(kv_type_name(type)) + "_4";
        const FunctionHandle kernel = find(name);
        const double seconds = seconds_of([&](uint32_t) {
            launcher_->launch(kernel,
                              {.grid_x = kv_heads, .grid_y = num_splits, .num_threads = 128},
                              AttentionParams{q, positions, kv, sums, maxima, weights, heads * dim,
                                              heads, blocks_of_split * kKvPositions, 0, 0.1f, 0});
        });
        report(name, heads * dim, last + 1, seconds, 2.0 * static_cast<double>(bytes), 0);
    }

    void report(const std::string& name, uint32_t rows, uint32_t cols, double seconds, double bytes,
                double operations) {
        std::printf("%s\n  {\"name\": \"%s\", \"rows\": %u, \"cols\": %u, \"us\": %.2f",
                    is_first_ ? "" : ",", name.c_str(), rows, cols, seconds * 1e6);
        is_first_ = false;
        if (bytes > 0) {
            const double gb_s = bytes / seconds / 1e9;
            std::printf(", \"gb_s\": %.1f, \"share_of_copy\": %.3f", gb_s, gb_s / copy_gb_s_);
        }
        if (operations > 0) std::printf(", \"tera_op_s\": %.1f", operations / seconds / 1e12);
        std::printf("}");
    }

    bool is_quick_, is_first_ = true;
    std::unique_ptr<SymbolSource> library_;
    std::vector<std::string> images_;
    std::unique_ptr<Gpu> gpu_;
    std::unique_ptr<GpuLauncher> launcher_;
    GpuMemory memory_, others_;
    double copy_gb_s_ = 0;
};

}  // namespace
}  // namespace hokku::cuda

int main(int argc, char** argv) try {
    hokku::cuda::Measurement(std::vector<std::string>(argv + 1, argv + argc)).run();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
