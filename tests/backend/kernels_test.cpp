// SPDX-License-Identifier: Apache-2.0
// Norms, RoPE and activations of every kernel table against double precision, over lengths that
// cover whole registers and every tail, at addresses aligned to 4 bytes only.
#include "backend/cpu/kernels.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backend/available_kernels.h"
#include "backend/cpu/cpu_features.h"
#include "support/catch.h"
#include "support/system.h"

using hokku::cpu::KernelTable;
using hokku::testing::available_tables;
using hokku::testing::set_environment;

namespace {

constexpr size_t kMaxLength = 70;  // Twice the 32 floats that two registers hold, and a tail.
constexpr float kUntouched = -777.0f;

std::vector<float> random_values(size_t n, uint32_t seed, float scale = 1.0f) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

/// A copy of values at an address that is 4 beyond a multiple of 8, with a guard value behind it.
class Misaligned {
  public:
    explicit Misaligned(const std::vector<float>& values)
        : size_(values.size()), storage_(1, kUntouched) {
        storage_.insert(storage_.end(), values.begin(), values.end());
        storage_.resize(size_ + 4, kUntouched);
    }
    float* data() { return storage_.data() + 1; }
    float operator[](size_t i) const { return storage_[i + 1]; }
    [[nodiscard]] bool is_guard_intact() const {
        return storage_[0] == kUntouched && storage_[size_ + 1] == kUntouched;
    }

  private:
    size_t size_;
    std::vector<float> storage_;
};

/// Error relative to the value, or to `floor` where the value is smaller.
void check_close(const KernelTable& table, const char* what, size_t n, size_t i, double got,
                 double want, double tolerance, double floor) {
    const double error = std::abs(got - want);
    if (error <= tolerance * std::max(std::abs(want), floor)) return;
    FAIL(table.name << " " << what << ", length " << n << ", value " << i << ": " << got
                    << " instead of " << want);
}

using Activate = void (*)(float*, const float*, size_t);

void check_activation(const char* what, Activate KernelTable::*member,
                      const std::function<double(double)>& f,
                      const std::function<double(double)>& exponent) {
    for (const KernelTable* table : available_tables()) {
        for (size_t n = 0; n <= kMaxLength; ++n) {
            for (const float scale : {0.01f, 1.0f, 12.0f, 200.0f}) {
                const auto x = random_values(n, static_cast<uint32_t>(n), scale);
                const auto up = random_values(n, static_cast<uint32_t>(n) + 1000);
                Misaligned gated(x), plain(x), other(up);
                (table->*member)(gated.data(), other.data(), n);
                (table->*member)(plain.data(), nullptr, n);
                REQUIRE((gated.is_guard_intact() && plain.is_guard_intact()));
                for (size_t i = 0; i < n; ++i) {
                    const double want = f(x[i]);
                    // Eight roundings of 2^-24, and five in the argument of exp.
                    const double tolerance = (8 + 5 * std::abs(exponent(x[i]))) * 6e-8;
                    check_close(*table, what, n, i, plain[i], want, tolerance, 1e-6);
                    check_close(*table, what, n, i, gated[i], want * double{up[i]}, tolerance,
                                1e-6);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("kernels: silu", "[backend][quick]") {
    check_activation(
        "silu", &KernelTable::silu_mul, [](double x) { return x / (1 + std::exp(-x)); },
        [](double x) { return x; });
}

TEST_CASE("kernels: gelu, tanh form", "[backend][quick]") {
    const auto twice_y = [](double x) {
        return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    };
    // x (1 + tanh y) / 2 without the loss of digits for negative y.
    check_activation(
        "gelu_tanh", &KernelTable::gelu_tanh_mul,
        [&](double x) { return x / (1 + std::exp(-twice_y(x))); }, twice_y);
}

TEST_CASE("kernels: gelu, erf form", "[backend][quick]") {
    for (const KernelTable* table : available_tables()) {
        const auto x = random_values(64, 3, 2.0f);
        Misaligned y(x);
        table->gelu_erf_mul(y.data(), nullptr, x.size());
        for (size_t i = 0; i < x.size(); ++i) {
            const double want = 0.5 * x[i] * (1 + std::erf(double{x[i]} / std::sqrt(2.0)));
            check_close(*table, "gelu_erf", 64, i, y[i], want, 1e-6, 0.5);
        }
    }
}

TEST_CASE("kernels: squared relu", "[backend][quick]") {
    check_activation(
        "relu_squared", &KernelTable::relu_squared_mul, [](double x) { return x > 0 ? x * x : 0; },
        [](double) { return 0.0; });
}

TEST_CASE("kernels: softcap", "[backend][quick]") {
    for (const KernelTable* table : available_tables()) {
        for (const float scale : {0.001f, 1.0f, 30.0f, 1000.0f}) {
            const auto x = random_values(kMaxLength, 9, scale);
            Misaligned y(x);
            table->softcap(y.data(), 30.0f, x.size());
            for (size_t i = 0; i < x.size(); ++i) {
                const double want = 30 * std::tanh(double{x[i]} / 30);
                check_close(*table, "softcap", kMaxLength, i, y[i], want, 5e-7, 1e-9);
            }
        }
    }
}

TEST_CASE("kernels: activations of extreme values are those of the limits", "[backend][quick]") {
    for (const KernelTable* table : available_tables()) {
        const float max = std::numeric_limits<float>::max();
        std::vector<float> x = {max, -max, 0.0f, -0.0f, NAN, INFINITY, 100.0f, -100.0f};
        std::vector<float> y = x;
        table->silu_mul(y.data(), nullptr, y.size());
        CHECK(y[0] == max);
        CHECK(y[1] == 0.0f);
        CHECK(y[2] == 0.0f);
        CHECK(std::isnan(y[4]));
        CHECK(y[5] == INFINITY);
        CHECK(y[6] == 100.0f);
        CHECK(std::abs(y[7]) < 1e-35f);
        y = x;
        table->gelu_tanh_mul(y.data(), nullptr, 4);
        CHECK(y[0] == max);
        CHECK(y[1] == 0.0f);
        y = x;
        table->softcap(y.data(), 50.0f, y.size());
        CHECK(y[0] == 50.0f);
        CHECK(y[1] == -50.0f);
        CHECK(std::isnan(y[4]));
        CHECK(y[5] == 50.0f);
    }
}

TEST_CASE("kernels: rms_norm and layer_norm", "[backend][quick]") {
    for (const KernelTable* table : available_tables()) {
        for (size_t n = 1; n <= kMaxLength + 64; ++n) {
            const auto x = random_values(n, static_cast<uint32_t>(n), 3.0f);
            auto weight = random_values(n, 77), bias = random_values(n, 78);
            Misaligned in(x), w(weight), b(bias), out(x);
            double mean = 0, squares = 0, variance = 0;
            for (const float v : x) mean += double{v} / static_cast<double>(n);
            for (const float v : x) {
                squares += double{v} * v / static_cast<double>(n);
                variance += (v - mean) * (v - mean) / static_cast<double>(n);
            }
            const double eps = 1e-5;
            table->rms_norm(out.data(), in.data(), w.data(), n, 1e-5f);
            REQUIRE(out.is_guard_intact());
            for (size_t i = 0; i < n; ++i) {
                check_close(*table, "rms_norm", n, i, out[i],
                            x[i] / std::sqrt(squares + eps) * weight[i], 1e-6, 1e-3);
            }
            table->rms_norm(in.data(), in.data(), nullptr, n, 1e-5f);  // In place.
            for (size_t i = 0; i < n; ++i) {
                check_close(*table, "rms_norm", n, i, in[i], x[i] / std::sqrt(squares + eps), 1e-6,
                            1e-3);
            }
            Misaligned again(x);
            table->layer_norm(out.data(), again.data(), w.data(), b.data(), n, 1e-5f);
            REQUIRE(out.is_guard_intact());
            for (size_t i = 0; i < n; ++i) {
                // The mean loses digits of the values, whose size is about 3.
                check_close(*table, "layer_norm", n, i, out[i],
                            (x[i] - mean) / std::sqrt(variance + eps) * weight[i] + bias[i], 2e-5,
                            n == 1 ? 3.0 : 0.3);
            }
        }
    }
}

TEST_CASE("kernels: RoPE turns pairs of either layout", "[backend][quick]") {
    for (const KernelTable* table : available_tables()) {
        for (size_t half = 1; half <= 40; ++half) {
            const size_t n = 2 * half;
            const auto x = random_values(n, static_cast<uint32_t>(half));
            std::vector<float> cos_sin(n);
            for (size_t i = 0; i < half; ++i) {
                cos_sin[i] = std::cos(static_cast<float>(i) * 0.37f);
                cos_sin[half + i] = std::sin(static_cast<float>(i) * 0.37f);
            }
            Misaligned halves(x), pairs(x), angles(cos_sin);
            table->rope_halves(halves.data(), angles.data(), n);
            table->rope_interleaved(pairs.data(), angles.data(), n);
            REQUIRE((halves.is_guard_intact() && pairs.is_guard_intact()));
            for (size_t i = 0; i < half; ++i) {
                const double c = cos_sin[i], s = cos_sin[half + i];
                const auto turn = [&](double a, double b) {
                    return std::pair{a * c - b * s, a * s + b * c};
                };
                const auto [h0, h1] = turn(x[i], x[half + i]);
                check_close(*table, "rope_halves", n, i, halves[i], h0, 3e-7, 1.0);
                check_close(*table, "rope_halves", n, half + i, halves[half + i], h1, 3e-7, 1.0);
                const auto [p0, p1] = turn(x[2 * i], x[2 * i + 1]);
                check_close(*table, "rope_interleaved", n, 2 * i, pairs[2 * i], p0, 3e-7, 1.0);
                check_close(*table, "rope_interleaved", n, 2 * i + 1, pairs[2 * i + 1], p1, 3e-7,
                            1.0);
            }
        }
    }
}

TEST_CASE("kernels: add_scaled", "[backend][quick]") {
    for (const KernelTable* table : available_tables()) {
        for (size_t n = 0; n <= kMaxLength; ++n) {
            const auto x = random_values(n, 5), y = random_values(n, 6);
            Misaligned sum(x), other(y);
            table->add_scaled(sum.data(), other.data(), 0.22f, n);
            REQUIRE(sum.is_guard_intact());
            for (size_t i = 0; i < n; ++i) {
                check_close(*table, "add_scaled", n, i, sum[i], x[i] + 0.22 * double{y[i]}, 3e-7,
                            1.0);
            }
        }
    }
}

TEST_CASE("select_kernels: HOKKU_CPU forces a table or is an error", "[backend][quick]") {
    const char* old = std::getenv("HOKKU_CPU");
    const std::string saved = old ? old : "";
    for (const KernelTable* table : available_tables()) {
        set_environment("HOKKU_CPU", table->name);
        const auto chosen = hokku::cpu::select_kernels();
        REQUIRE(chosen.ok());
        CHECK(*chosen == table);
        CHECK(std::string((*chosen)->name) == table->name);
    }
    set_environment("HOKKU_CPU", "pentium");
    const auto unknown = hokku::cpu::select_kernels();
    REQUIRE_FALSE(unknown.ok());
    CHECK(unknown.error().code == hokku::ErrorCode::unsupported);
    CHECK(unknown.error().message().find("pentium") != std::string::npos);
    set_environment("HOKKU_CPU", "");
    CHECK(hokku::cpu::select_kernels().ok());
    set_environment("HOKKU_CPU", saved);
}

TEST_CASE("find_kernels: every table that the CPU can run is there", "[backend][quick]") {
    CHECK(hokku::cpu::find_kernels("reference") != nullptr);
#if defined(__x86_64__)
    CHECK((hokku::cpu::find_kernels("avx2") != nullptr) == hokku::cpu::cpu_features().avx2);
    CHECK((hokku::cpu::find_kernels("avxvnni") != nullptr) == hokku::cpu::cpu_features().avx_vnni);
    CHECK((hokku::cpu::find_kernels("avx512") != nullptr) ==
          hokku::cpu::cpu_features().avx512_vnni);
    CHECK((hokku::cpu::find_kernels("amxbf16") != nullptr) == hokku::cpu::cpu_features().amx_bf16);
    CHECK((hokku::cpu::find_kernels("amx") != nullptr) == hokku::cpu::cpu_features().amx_int8);
#endif
    CHECK(hokku::cpu::find_kernels("") == nullptr);
}
