// SPDX-License-Identifier: Apache-2.0
// Row-major products over the column-major cuBLAS, of shapes in which no two sizes are equal: an
// exchanged dimension or transposition cannot go unnoticed. On a GPU the same with the real one.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backend/half.h"
#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "driver/blas_api.h"
#include "emulation/fakes/fake_blas.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::BlasProduct;
using cuda::BlasStatus;
using cuda::BlasType;

namespace {

/// The library of the device under test, working in its stream.
struct Blas {
    Blas() {
        if (TestDevice::get().is_emulated()) {
            source = std::make_unique<emulation::FakeBlasSymbols>();
        } else {
            auto library = cuda::open_library(cuda::blas_library_names());
            if (!library.ok()) FAIL(library.error().message());
            source = std::move(library).value();
        }
        auto table = cuda::load_blas_api(*source);
        REQUIRE(table.ok());
        api = *table;
        REQUIRE(api.create(&handle) == BlasStatus::success);
        REQUIRE(api.set_stream(handle, TestDevice::get().stream()) == BlasStatus::success);
    }
    ~Blas() { api.destroy(handle); }
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;
    std::unique_ptr<cuda::SymbolSource> source;
    cuda::BlasApi api;
    cuda::BlasHandle handle = nullptr;
};

struct Sizes {
    int32_t rows, cols, vectors;
};
constexpr Sizes kSizes[] = {{5, 8, 3}, {17, 32, 1}, {3, 64, 19}, {33, 96, 2}, {1, 4, 7}};

std::vector<uint8_t> random_bytes(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint8_t> bytes(n);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
}

}  // namespace

TEST_CASE("cuBLAS: a function that the library lacks is named", "[cuda][quick]") {
    emulation::FakeBlasSymbols symbols;
    symbols.missing = "cublasGemmEx";
    const auto api = cuda::load_blas_api(symbols);
    REQUIRE_FALSE(api.ok());
    CHECK(api.error().where == "fake cuBLAS: cublasGemmEx");
}

TEST_CASE("cuBLAS: int8 products are exact, rows further apart included", "[cuda][quick]") {
    const Blas blas;
    for (const Sizes& s : kSizes) {
        for (const int32_t spare : {0, 4}) {
            const int32_t w_stride = s.cols + spare, x_stride = s.cols + 2 * spare,
                          y_stride = s.rows + spare;
            const std::vector<uint8_t> w = random_bytes(static_cast<size_t>(s.rows * w_stride), 1);
            const std::vector<uint8_t> x =
                random_bytes(static_cast<size_t>(s.vectors * x_stride), 2);
            const DeviceBuffer<uint8_t> device_w(w), device_x(x);
            const DeviceBuffer<int32_t> y(
                std::vector<int32_t>(static_cast<size_t>(s.vectors * y_stride), 7));
            for (const bool accumulate : {false, true}) {
                REQUIRE(multiply(blas.api, blas.handle,
                                 {.w = device_w.pointer(),
                                  .x = device_x.pointer(),
                                  .y = y.pointer(),
                                  .in_type = BlasType::i8,
                                  .out_type = BlasType::i32,
                                  .rows = s.rows,
                                  .cols = s.cols,
                                  .vectors = s.vectors,
                                  .w_stride = w_stride,
                                  .x_stride = x_stride,
                                  .y_stride = y_stride,
                                  .accumulate = accumulate}) == BlasStatus::success);
                const std::vector<int32_t> got = y.read();
                for (int32_t v = 0; v < s.vectors; ++v) {
                    for (int32_t r = 0; r < y_stride; ++r) {
                        int32_t sum = 0;
                        for (int32_t i = 0; i < s.cols && r < s.rows; ++i) {
                            sum += int8_t(w[static_cast<size_t>(r * w_stride + i)]) *
                                   int8_t(x[static_cast<size_t>(v * x_stride + i)]);
                        }
                        if (accumulate) sum *= 2;
                        if (r >= s.rows) sum = 7;
                        REQUIRE(got[static_cast<size_t>(v * y_stride + r)] == sum);
                    }
                }
            }
        }
    }
}

TEST_CASE("cuBLAS: products of floats and halves", "[cuda][quick]") {
    const Blas blas;
    for (const Sizes& s : kSizes) {
        for (const BlasType type : {BlasType::f32, BlasType::f16}) {
            std::vector<float> w = activations(static_cast<size_t>(s.rows * s.cols), 3);
            std::vector<float> x = activations(static_cast<size_t>(s.vectors * s.cols), 4);
            const auto stored = [&](std::vector<float>& values) {
                std::vector<uint8_t> bytes(values.size() * 4);
                for (size_t i = 0; i < values.size(); ++i) {
                    const uint16_t half = float_to_half(values[i]);
                    if (type == BlasType::f16) values[i] = half_to_float(half);
                    if (type == BlasType::f16) std::memcpy(bytes.data() + 2 * i, &half, 2);
                    if (type == BlasType::f32) std::memcpy(bytes.data() + 4 * i, &values[i], 4);
                }
                return bytes;
            };
            const DeviceBuffer<uint8_t> device_w(stored(w)), device_x(stored(x));
            const DeviceBuffer<float> y(static_cast<size_t>(s.rows * s.vectors));
            REQUIRE(multiply(blas.api, blas.handle,
                             {.w = device_w.pointer(),
                              .x = device_x.pointer(),
                              .y = y.pointer(),
                              .in_type = type,
                              .rows = s.rows,
                              .cols = s.cols,
                              .vectors = s.vectors}) == BlasStatus::success);
            const std::vector<float> got = y.read();
            for (int32_t v = 0; v < s.vectors; ++v) {
                for (int32_t r = 0; r < s.rows; ++r) {
                    double sum = 0, magnitude = 0;
                    for (int32_t i = 0; i < s.cols; ++i) {
                        const double product = double{w[static_cast<size_t>(r * s.cols + i)]} *
                                               double{x[static_cast<size_t>(v * s.cols + i)]};
                        sum += product;
                        magnitude += std::abs(product);
                    }
                    const double value = double{got[static_cast<size_t>(v * s.rows + r)]};
                    REQUIRE(std::abs(value - sum) <= 1e-5 * magnitude);
                }
            }
        }
    }
}

TEST_CASE("Fake cuBLAS: leading dimensions and types are checked as the library checks them",
          "[cuda][quick]") {
    const Blas blas;
    if (!TestDevice::get().is_emulated()) return;
    const DeviceBuffer<float> memory(64);
    BlasProduct product{.w = memory.pointer(),
                        .x = memory.pointer(),
                        .y = memory.pointer(),
                        .in_type = BlasType::f32,
                        .rows = 2,
                        .cols = 4,
                        .vectors = 3};
    product.w_stride = 3;
    CHECK(multiply(blas.api, blas.handle, product) == BlasStatus::invalid_value);
    product.w_stride = 4;
    product.y_stride = 1;
    CHECK(multiply(blas.api, blas.handle, product) == BlasStatus::invalid_value);
    product.y_stride = 2;
    product.in_type = BlasType::i8;
    CHECK(multiply(blas.api, blas.handle, product) == BlasStatus::not_supported);
    product.out_type = BlasType::i32;
    product.cols = 6;
    product.w_stride = 6;
    CHECK(multiply(blas.api, blas.handle, product) == BlasStatus::not_supported);
}
