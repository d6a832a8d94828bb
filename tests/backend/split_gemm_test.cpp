// SPDX-License-Identifier: Apache-2.0
// Products of many rows with weights stored as floats where they are sums of bfloat16, against
// double precision. What may be lost follows from the format: half a step of bfloat16 is u = 2^-8
// of a number, so that two parts leave u^2 of it and two low parts multiplied are at most u^2 of
// the product.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/thread_team.h"
#include "backend/half.h"
#include "backend/plain_tiles.h"
#include "backend/quant_blocks.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::cpu;
using hokku::testing::BlockKind;
using hokku::testing::GuardedMatrix;

namespace {

constexpr TensorType kTypes[] = {TensorType::bf16, TensorType::f16, TensorType::f32};

/// Over tile registers in plain C++; null where the CPU lacks what is around them.
const KernelTable* plain_table() {
    const KernelTable* avx512 = find_kernels("avx512");
    if (!avx512) return nullptr;
    static MatmulKernels matmul = *avx512->matmul;
    static KernelTable table = *avx512;
    fill_plain_split_gemm(matmul);
    table.name = "plain tiles";
    table.matmul = &matmul;
    return &table;
}

std::vector<const KernelTable*> split_tables() {
    std::vector<const KernelTable*> tables;
    for (const KernelTable* table : {find_kernels("amxbf16"), plain_table()})
        if (table) tables.push_back(table);
    if (tables.empty()) hokku::testing::report_skip("hardware: no AVX-512 here");
    return tables;
}

struct Rows {
    const float* data;
    uint32_t num_rows;
    size_t stride;
};

void run(const KernelTable& table, uint32_t num_threads, const Rows& x,
         const std::vector<MatmulTarget>& targets) {
    ThreadTeam team(num_threads);
    auto scratch = MatmulScratch::create(
        {.num_lanes = team.size(), .max_rows = x.num_rows, .max_in = targets.front().weight->cols});
    REQUIRE(scratch.ok());
    struct Call {
        const KernelTable& table;
        MatmulScratch& scratch;
        const Rows& x;
        const std::vector<MatmulTarget>& targets;
    } call{table, *scratch, x, targets};
    team.run(
        [](void* context, Lane lane) {
            const Call& c = *static_cast<Call*>(context);
            matmul(lane, c.table, c.scratch, {c.x.data, c.x.stride, c.x.num_rows, 0}, c.targets);
        },
        &call);
}

/// The share of |x| |w| that the parts left out may be: what two parts leave of x, and of both
/// second parts with F16, of a second and a third with F32.
double lost_share(TensorType type) {
    constexpr double kHalfStep = 0x1p-8, kRest = kHalfStep * kHalfStep;
    if (type == TensorType::f32) return kRest + kRest * kHalfStep;
    return type == TensorType::bf16 ? kRest : 2 * kRest;
}

/// Of n products, which pass a float32 addition with each of the products of their tile, and then
/// one with each tile that follows. What is subnormal may count as zero wherever it comes up.
double allowed_error(TensorType type, size_t n, double sum_of_magnitudes, double max_magnitude) {
    const double num_products = type == TensorType::bf16 ? 2 : type == TensorType::f16 ? 3 : 5;
    const double num_additions = 18 + num_products * std::ceil(static_cast<double>(n) / 32);
    const double flushed =
        static_cast<double>(n) * num_products * FLT_MIN * 4 * (1 + max_magnitude);
    return (lost_share(type) + 1.01 * num_additions * 0x1p-24) * sum_of_magnitudes + flushed;
}

std::vector<float> random_floats(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random) * (random() % 100 == 0 ? 60.0f : 1.0f);
    return values;
}

void check_product(const KernelTable& table, const GuardedMatrix& matrix, uint32_t num_rows,
                   uint32_t seed) {
    const WeightMatrix& weight = matrix.weight();
    const size_t x_stride = weight.cols + 3, out_stride = weight.rows + 5;
    const std::vector<float> x = random_floats(1 + num_rows * x_stride, seed);
    constexpr float kUntouched = -12345.0f;
    std::vector<float> out(num_rows * out_stride, kUntouched);
    run(table, 2, {x.data() + 1, num_rows, x_stride}, {{&weight, nullptr, out.data(), out_stride}});
    INFO(table.name << ", " << traits_of(weight.type).name << " " << weight.rows << " x "
                    << weight.cols << ", " << num_rows << " rows");
    for (uint32_t t = 0; t < num_rows; ++t) {
        for (uint32_t r = 0; r < weight.rows; ++r) {
            double sum = 0, magnitudes = 0, max = 0;
            for (size_t i = 0; i < weight.cols; ++i) {
                const double a = x[1 + t * x_stride + i];
                const double b = matrix.values()[size_t{r} * weight.cols + i];
                sum += a * b;
                magnitudes += std::abs(a * b);
                max = std::max({max, std::abs(a), std::abs(b)});
            }
            const double error = std::abs(out[t * out_stride + r] - sum);
            if (!(error <= allowed_error(weight.type, weight.cols, magnitudes, max)))
                FAIL("output " << r << " of row " << t << " is off by " << error);
        }
        for (size_t r = weight.rows; r < out_stride; ++r)
            REQUIRE(out[t * out_stride + r] == kUntouched);
    }
}

/// A weight of one column.
struct Column {
    Column(TensorType type, size_t num_rows) : bytes(num_rows * traits_of(type).block_bytes) {
        weight.type = type;
        weight.data = bytes.data();
        weight.rows = static_cast<uint32_t>(num_rows);
        weight.cols = 1;
        weight.row_stride = traits_of(type).block_bytes;
    }
    template <class T>
    void set(size_t row, T value) {
        std::memcpy(bytes.data() + row * sizeof value, &value, sizeof value);
    }
    std::vector<std::byte> bytes;
    WeightMatrix weight;
};

/// Of every kind: the largest, what rounds to infinity, subnormal, ordinary, not finite.
std::vector<float> extreme_floats() {
    using Limits = std::numeric_limits<float>;
    std::vector<float> values = {0.0f,
                                 FLT_MAX,
                                 float_from_bits(0x7f7f7fff),
                                 float_from_bits(0x7f7f8000),
                                 float_from_bits(0x7f7e8001),
                                 FLT_MIN,
                                 FLT_TRUE_MIN,
                                 float_from_bits(0x007fffff),
                                 1.0f + 0x1p-8f,
                                 1.0f + 0x1p-23f,
                                 2.0f - 0x1p-23f,
                                 65504.0f,
                                 Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 Limits::signaling_NaN(),
                                 float_from_bits(0x7f800001)};
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i)
        values.push_back(float_from_bits(static_cast<uint32_t>(random()) & 0x7fffffff));
    const size_t count = values.size();
    for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
    return values;
}

/// Whether one times `value` may come out as `got`.
bool is_near(float got, float value, double share) {
    if (std::isnan(value)) return std::isnan(got);
    if (std::isinf(value)) return !std::isfinite(got);
    const double error = std::abs(double{got} - value);
    return error <= share * std::abs(double{value}) + (std::abs(value) < 0x1p-100f ? FLT_MIN : 0);
}

}  // namespace

TEST_CASE("split GEMM: no error is larger than what the parts leave out", "[backend][quick]") {
    uint32_t seed = 1;
    for (const KernelTable* table : split_tables()) {
        for (const TensorType type : kTypes) {
            for (const uint32_t cols : {1u, 31u, 32u, 33u, 100u, 256u, 257u, 1024u, 2079u}) {
                const GuardedMatrix matrix(type, cols % 2 ? 19 : 65, cols, BlockKind::plain,
                                           ++seed);
                for (const uint32_t num_rows : {1u, 7u, 16u, 33u})
                    check_product(*table, matrix, num_rows, ++seed);
            }
            for (const uint32_t cols : {40u, 600u}) {  // More rows of x than pass a panel together.
                const GuardedMatrix matrix(type, 35, cols, BlockKind::plain, ++seed);
                check_product(*table, matrix, 530, ++seed);
            }
            for (const uint32_t num_weights : {1u, 15u, 16u, 17u, 32u, 33u, 64u, 129u, 300u}) {
                const GuardedMatrix matrix(type, num_weights, 95, BlockKind::extreme, ++seed);
                for (const uint32_t num_rows : {15u, 17u, 31u, 32u, 47u, 64u, 65u})
                    check_product(*table, matrix, num_rows, ++seed);
            }
        }
    }
}

TEST_CASE("split GEMM: every half and every bfloat16 is what it was", "[backend][quick]") {
    constexpr size_t kCount = 0x10000;
    const float one = 1.0f;
    for (const KernelTable* table : split_tables()) {
        for (const TensorType type : {TensorType::f16, TensorType::bf16}) {
            Column column(type, kCount);
            for (size_t i = 0; i < kCount; ++i) column.set(i, static_cast<uint16_t>(i));
            std::vector<float> out(kCount);
            run(*table, 1, {&one, 1, 1}, {{&column.weight, nullptr, out.data(), kCount}});
            size_t num_wrong = 0;
            for (size_t i = 0; i < kCount; ++i) {
                const auto bits = static_cast<uint16_t>(i);
                const float value =
                    type == TensorType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
                if (!is_near(out[i], value, 0)) ++num_wrong;
            }
            INFO(table->name << ", " << traits_of(type).name);
            CHECK(num_wrong == 0);
        }
    }
}

TEST_CASE("split GEMM: every float is what it was but what is largest or hardly there",
          "[backend][quick]") {
    const std::vector<float> values = extreme_floats();
    Column column(TensorType::f32, values.size());
    for (size_t i = 0; i < values.size(); ++i) column.set(i, values[i]);
    const float one = 1.0f;
    for (const KernelTable* table : split_tables()) {
        std::vector<float> out(values.size());
        run(*table, 1, {&one, 1, 1}, {{&column.weight, nullptr, out.data(), out.size()}});
        for (size_t i = 0; i < values.size(); ++i) {
            INFO(table->name << ", " << values[i] << " came out as " << out[i]);
            CHECK(is_near(out[i], values[i], std::abs(values[i]) > 0x1.fep127f ? 0x1p-16 : 0));
        }
    }
}

TEST_CASE("split GEMM: extreme numbers stay finite and others do not become so",
          "[backend][quick]") {
    constexpr double kRest = 0x1p-16;
    const std::vector<float> values = extreme_floats();
    const size_t count = values.size();
    for (const KernelTable* table : split_tables()) {
        std::vector<float> out(count);
        for (const TensorType type : kTypes) {
            Column ones(type, 1);
            if (type == TensorType::f32) ones.set(0, 1.0f);
            if (type == TensorType::f16) ones.set(0, uint16_t{0x3c00});
            if (type == TensorType::bf16) ones.set(0, uint16_t{0x3f80});
            run(*table, 1, {values.data(), static_cast<uint32_t>(count), 1},
                {{&ones.weight, nullptr, out.data(), 1}});
            for (size_t i = 0; i < count; ++i) {
                INFO(table->name << ", " << traits_of(type).name << ", x " << values[i]
                                 << " came out as " << out[i]);
                CHECK(is_near(out[i], values[i], kRest));
            }
        }
    }
}

TEST_CASE("split GEMM: a target is the same alone, beside others and on other threads",
          "[backend][quick][threads]") {
    constexpr uint32_t kRows = 37, kCols = 1088;
    const GuardedMatrix matrices[] = {{TensorType::f16, 70, kCols, BlockKind::plain, 1},
                                      {TensorType::q8_0, 40, kCols, BlockKind::plain, 2},
                                      {TensorType::f32, 9, kCols, BlockKind::plain, 3},
                                      {TensorType::bf16, 150, kCols, BlockKind::plain, 4}};
    const std::vector<float> x = random_floats(kRows * kCols, 5);
    for (const KernelTable* table : split_tables()) {
        std::vector<std::vector<float>> alone, together;
        std::vector<MatmulTarget> targets;
        for (const GuardedMatrix& matrix : matrices) {
            const uint32_t num_weights = matrix.weight().rows;
            alone.emplace_back(kRows * num_weights);
            run(*table, 1, {x.data(), kRows, kCols},
                {{&matrix.weight(), nullptr, alone.back().data(), num_weights}});
            together.emplace_back(kRows * num_weights);
            targets.push_back({&matrix.weight(), nullptr, together.back().data(), num_weights});
        }
        for (const uint32_t num_threads : {1u, 3u}) {
            run(*table, num_threads, {x.data(), kRows, kCols}, targets);
            INFO(table->name << ", " << num_threads << " threads");
            CHECK(together == alone);
        }
    }
}

TEST_CASE("split GEMM: tile registers give the bits of those in plain C++", "[backend][quick]") {
    const KernelTable *amx = find_kernels("amxbf16"), *plain = plain_table();
    if (!amx || !plain) return hokku::testing::report_skip("hardware: no AMX-BF16 here");
    constexpr uint32_t kRows = 40, kCols = 1100, kWeights = 50;
    const std::vector<float> x = random_floats(kRows * kCols, 1);
    for (const TensorType type : kTypes) {
        const GuardedMatrix matrix(type, kWeights, kCols, BlockKind::plain, 2);
        std::vector<float> outs[2];
        for (int i = 0; i < 2; ++i) {
            outs[i].resize(kRows * kWeights);
            run(i ? *plain : *amx, 1, {x.data(), kRows, kCols},
                {{&matrix.weight(), nullptr, outs[i].data(), kWeights}});
        }
        INFO(traits_of(type).name);
        CHECK(outs[0] == outs[1]);
    }
}
