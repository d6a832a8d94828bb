// SPDX-License-Identifier: Apache-2.0
// matmul() of every kernel table against the double-precision product of the dequantised weights.
// The quantisation of x is the only error that a table may have: a value of x is off by at most
// half a step of its block of 32, uniformly, so that the error of an output has a standard
// deviation that is known; float32 rounding has a floor of its own.
#include "backend/cpu/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/available_kernels.h"
#include "backend/cpu/avx512/tables.h"
#include "backend/cpu/cpu_features.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/thread_team.h"
#include "backend/plain_tiles.h"
#include "backend/quant_blocks.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/time_limits.h"

using namespace hokku;
using namespace hokku::cpu;
using hokku::testing::BlockKind;
using hokku::testing::GuardedMatrix;

namespace {

/// The AVX-512 table with the look-ups of codebooks that other processors take; null without one.
const KernelTable* other_look_ups() {
#if defined(__x86_64__)
    static const KernelTable* const other = []() -> const KernelTable* {
        const KernelTable* avx512 = find_kernels("avx512");
        if (!avx512) return nullptr;
        static MatmulKernels matmul = *avx512->matmul;
        static KernelTable table = *avx512;
        fill_avx512_gemv_codebooks(matmul, !cpu_features().is_intel);
        table.name = "avx512, other look-ups";
        table.matmul = &matmul;
        return &table;
    }();
    return other;
#else
    return nullptr;
#endif
}

/// Those of this CPU, the one above, and where it has no tile registers the GEMM over plain ones.
std::vector<const KernelTable*> matmul_tables() {
    std::vector<const KernelTable*> tables = hokku::testing::available_tables();
    if (const KernelTable* other = other_look_ups()) tables.push_back(other);
#if defined(__x86_64__)
    const KernelTable* avx512 = find_kernels("avx512");
    if (!avx512 || find_kernels("amx")) return tables;
    static MatmulKernels matmul = *avx512->matmul;
    static KernelTable table = *avx512;
    fill_plain_tile_gemm(matmul);
    table.name = "plain tiles";
    table.matmul = &matmul;
    tables.push_back(&table);
#endif
    return tables;
}

/// Normally distributed, one in a hundred six times as large (as real activations are). Drawn once:
/// drawing took as long as the products.
const std::vector<float>& some_activations() {
    static const std::vector<float> drawn = [] {
        std::vector<float> values(65'537);
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        for (float& value : values) value = normal(random) * (random() % 100 == 0 ? 6.0f : 1.0f);
        return values;
    }();
    return drawn;
}

/// Activations from a place that the seed chooses; at an address that is aligned to 4 bytes only.
struct Rows {
    Rows(uint32_t num_rows, uint32_t cols, uint32_t seed)
        : stride(cols + 3), storage(num_rows * stride + 1) {
        const std::vector<float>& drawn = some_activations();
        size_t place = std::mt19937(seed)() % drawn.size();
        for (float& value : storage) {
            value = drawn[place];
            if (++place == drawn.size()) place = 0;
        }
    }
    [[nodiscard]] const float* row(size_t r) const { return storage.data() + 1 + r * stride; }
    size_t stride;
    std::vector<float> storage;
};

struct Case {
    const KernelTable* table;
    ThreadTeam* team;
    MatmulScratch* scratch;
    /// Errors in units of the expected deviation, over all outputs of a type.
    double square_sum = 0, num_outputs = 0;
};

struct Call {
    const Case* c;
    const Rows* x;
    uint32_t num_rows, num_vector_rows;
    std::span<const MatmulTarget> targets;
    Precision precision;
};

/// Few rows go through the vector kernels, or as many from the front as are asked for.
void run(const Case& c, const Rows& x, uint32_t num_rows, std::span<const MatmulTarget> targets,
         Precision precision = Precision::normal,
         std::optional<uint32_t> num_vector_rows = std::nullopt) {
    const uint32_t num_few = num_rows <= kMaxGemvVectors ? num_rows : 0;
    Call call{&c, &x, num_rows, num_vector_rows.value_or(num_few), targets, precision};
    c.team->run(
        [](void* context, Lane lane) {
            const Call& k = *static_cast<Call*>(context);
            matmul(lane, *k.c->table, *k.c->scratch,
                   {k.x->row(0), k.x->stride, k.num_rows, k.num_vector_rows}, k.targets,
                   k.precision);
        },
        &call);
}

/// What the output should be, the deviation that quantising x allows, and the rounding floor.
struct Expected {
    double value = 0, deviation = 0, floor = 0;
};

/// Of each block of 32 values.
struct BlockSums {
    double max = 0, sum = 0, squares = 0;  // of the absolute values
};

std::vector<BlockSums> block_sums(const float* values, size_t n) {
    std::vector<BlockSums> blocks((n + 31) / 32);
    for (size_t i = 0; i < n; ++i) {
        const double value = std::abs(static_cast<double>(values[i]));
        BlockSums& block = blocks[i / 32];
        block.max = std::max(block.max, value);
        block.sum += value;
        block.squares += value * value;
    }
    return blocks;
}

Expected expect(const float* w, std::span<const BlockSums> w_blocks, const float* x,
                std::span<const BlockSums> x_blocks, size_t n, float bias, double levels) {
    Expected e;
    for (size_t i = 0; i < n; ++i) e.value += static_cast<double>(w[i]) * x[i];
    double variance = 0;
    for (size_t b = 0; b < w_blocks.size(); ++b) {
        e.floor += 2e-6 * w_blocks[b].max * x_blocks[b].sum;
        const double step = levels > 0 ? x_blocks[b].max / levels : 0;
        variance += w_blocks[b].squares * step * step / 12;
    }
    e.value += bias;
    e.floor += 1e-6 * std::abs(static_cast<double>(bias)) + 1e-30;
    e.deviation = std::sqrt(variance);
    return e;
}

/// Runs one product and checks every output, and that nothing beside the outputs was written.
void check_product(Case& c, const GuardedMatrix& matrix, uint32_t num_rows, uint32_t seed,
                   Precision precision = Precision::normal) {
    const WeightMatrix& weight = matrix.weight();
    const Rows x(num_rows, weight.cols, seed);
    std::vector<float> bias(weight.rows);
    for (uint32_t i = 0; i < weight.rows; ++i) bias[i] = static_cast<float>(i % 7) - 3.0f;
    const size_t stride = weight.rows + 5;
    constexpr float kUntouched = -12345.0f;
    std::vector<float> out(num_rows * stride, kUntouched);
    const MatmulTarget target{&weight, bias.data(), out.data(), stride};
    run(c, x, num_rows, {&target, 1}, precision);

    const bool is_exact = std::string(c.table->name) == "reference";
    // Of the rest, at most half a step, 127 steps are made again.
    const double levels = is_exact ? 0 : precision == Precision::fine ? 127.0 * 254 : 127;
    std::vector<std::vector<BlockSums>> w_blocks(weight.rows);
    for (size_t r = 0; r < weight.rows; ++r)
        w_blocks[r] = block_sums(matrix.values().data() + r * weight.cols, weight.cols);
    for (uint32_t t = 0; t < num_rows; ++t) {
        const std::vector<BlockSums> x_blocks = block_sums(x.row(t), weight.cols);
        for (uint32_t r = 0; r < weight.rows; ++r) {
            const Expected e = expect(matrix.values().data() + size_t{r} * weight.cols, w_blocks[r],
                                      x.row(t), x_blocks, weight.cols, bias[r], levels);
            const double error = out[t * stride + r] - e.value;
            const double allowed = 6 * e.deviation + e.floor;
            if (!(std::abs(error) <= allowed)) {
                FAIL(c.table->name << ", " << traits_of(weight.type).name << " " << weight.rows
                                   << " x " << weight.cols << ", " << num_rows << " rows, output "
                                   << r << " of row " << t << ": " << out[t * stride + r]
                                   << " instead of " << e.value << " +- " << allowed);
            }
            if (e.deviation > e.floor) {
                c.square_sum += error * error / (e.deviation * e.deviation);
                c.num_outputs += 1;
            }
        }
        const auto beside = std::span(out).subspan(t * stride + weight.rows, stride - weight.rows);
        REQUIRE(std::ranges::count(beside, kUntouched) == std::ssize(beside));
    }
}

void check_types(const std::vector<uint32_t>& rows, const std::vector<uint32_t>& cols,
                 const std::vector<uint32_t>& x_rows, BlockKind kind, uint32_t num_threads) {
    ThreadTeam team(num_threads);
    uint32_t seed = 1;
    for (const KernelTable* table : matmul_tables()) {
        auto scratch =
            MatmulScratch::create({.num_lanes = team.size(), .max_rows = 65, .max_in = 5120});
        REQUIRE(scratch.ok());
        Case c{table, &team, &*scratch};
        for (const TensorType type : hokku::testing::weight_types()) {
            for (const uint32_t num_cols : cols) {
                if (num_cols % traits_of(type).block_values != 0) continue;
                for (const uint32_t num_rows : rows) {
                    const GuardedMatrix matrix(type, num_rows, num_cols, kind, ++seed);
                    for (const uint32_t n : x_rows) check_product(c, matrix, n, ++seed);
                }
            }
            // Each error may be six deviations, but over many they must average one.
            INFO(table->name << ", " << traits_of(type).name);
            if (c.num_outputs > 3000) CHECK(std::sqrt(c.square_sum / c.num_outputs) < 1.2);
            c.square_sum = c.num_outputs = 0;
        }
    }
}

}  // namespace

TEST_CASE("matmul: every table and type against double precision, common shapes",
          "[backend][quick][threads][lanes]") {
    check_types({3, 33}, {96, 256, 896, 1536}, {1, 2, 7, 13}, BlockKind::plain, 2);
}

TEST_CASE("matmul: awkward shapes", "[backend][lanes]") {
    // Sanitizers make many rows take minutes.
    std::vector<uint32_t> rows = {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17};
    if (!hokku::testing::kIsSanitized) rows.insert(rows.end(), {64, 65});
    check_types({1, 2, 3, 5, 31, 32, 33}, {32, 64, 96, 160, 224, 256, 288, 480, 576, 896}, rows,
                BlockKind::plain, 3);
}

TEST_CASE("matmul: more values than one panel holds", "[backend][lanes]") {
    check_types({5, 50}, {1056, 2048, 4864}, {1, 9}, BlockKind::plain, 2);
}

TEST_CASE("matmul: fine products lose no more than float32 rounding", "[backend][quick]") {
    ThreadTeam team(2);
    uint32_t seed = 1;
    for (const KernelTable* table : matmul_tables()) {
        auto scratch = MatmulScratch::create(
            {.num_lanes = team.size(), .max_rows = 13, .max_in = 768, .max_fine_in = 768});
        REQUIRE(scratch.ok());
        for (const TensorType type : hokku::testing::weight_types()) {
            const GuardedMatrix matrix(type, 37, 768, BlockKind::plain, ++seed);
            for (const uint32_t n : {1u, 2u, 13u}) {
                Case c{table, &team, &*scratch};
                check_product(c, matrix, n, ++seed, Precision::fine);
            }
        }
    }
}

TEST_CASE("matmul: products that share x give the same bits however lanes divide them",
          "[backend][quick][threads]") {
    constexpr uint32_t kCols = 896, kFirst = 67, kSecond = 450;
    const GuardedMatrix first(TensorType::q8_0, kFirst, kCols, BlockKind::plain, 1);
    const GuardedMatrix second(TensorType::q8_0, kSecond, kCols, BlockKind::plain, 2);
    const Rows x(1, kCols, 3);
    for (const KernelTable* table : matmul_tables()) {
        INFO(table->name);
        std::vector<float> expected;
        for (const uint32_t num_lanes : {1u, 2u, 3u}) {
            ThreadTeam team(num_lanes);
            auto scratch = MatmulScratch::create(
                {.num_lanes = team.size(), .max_rows = 1, .max_in = kCols, .max_fine_in = kCols});
            REQUIRE(scratch.ok());
            const Case c{table, &team, &*scratch};
            for (int round = 0; round < 20; ++round) {
                std::vector<float> out(kFirst + kSecond, 777.0f);
                const MatmulTarget targets[2] = {
                    {&first.weight(), nullptr, out.data(), kFirst},
                    {&second.weight(), nullptr, out.data() + kFirst, kSecond}};
                run(c, x, 1, targets, Precision::fine, 1);
                if (expected.empty()) expected = out;
                REQUIRE(out == expected);
            }
        }
        // Each alone is checked against double precision above.
        std::vector<float> alone(kSecond);
        ThreadTeam team(1);
        auto scratch = MatmulScratch::create(
            {.num_lanes = 1, .max_rows = 1, .max_in = kCols, .max_fine_in = kCols});
        REQUIRE(scratch.ok());
        const MatmulTarget target{&second.weight(), nullptr, alone.data(), kSecond};
        run({table, &team, &*scratch}, x, 1, {&target, 1}, Precision::fine, 1);
        CHECK(std::equal(alone.begin(), alone.end(), expected.begin() + kFirst));
    }
}

/// Checks that the products of some rows are the same whatever rows are beside them.
void check_ways(const Case& c, TensorType type, uint32_t cols, uint32_t seed) {
    constexpr uint32_t kRows = 21, kWeights = 37;
    const GuardedMatrix matrix(type, kWeights, cols, BlockKind::plain, seed);
    const Rows x(kRows, cols, seed + 1);
    for (const Precision precision : {Precision::normal, Precision::fine}) {
        const auto product = [&](uint32_t num_rows, uint32_t num_vector_rows) {
            std::vector<float> out(size_t{num_rows} * kWeights);
            const MatmulTarget target{&matrix.weight(), nullptr, out.data(), kWeights};
            run(c, x, num_rows, {&target, 1}, precision, num_vector_rows);
            return out;
        };
        const std::vector<float> vectors = product(kRows, kRows);
        const std::vector<float> matrices = product(kRows, 0);
        INFO(c.table->name << ", " << traits_of(type).name << ", " << cols << " columns");
        const auto is_start_of = [](const std::vector<float>& part, const std::vector<float>& whole,
                                    size_t from = 0) {
            return std::equal(part.begin() + static_cast<ptrdiff_t>(from), part.end(),
                              whole.begin() + static_cast<ptrdiff_t>(from));
        };
        for (const uint32_t n : {1u, 2u, 3u, 5u, 8u, 9u})
            CHECK(is_start_of(product(n, n), vectors));
        for (const uint32_t n : {1u, 6u, 7u, 13u}) CHECK(is_start_of(product(n, 0), matrices));
        for (const uint32_t n : {1u, 4u, 11u}) {  // both ways in one product
            const std::vector<float> mixed = product(kRows, n);
            CHECK(std::equal(mixed.begin(), mixed.begin() + n * kWeights, vectors.begin()));
            CHECK(is_start_of(mixed, matrices, n * kWeights));
        }
    }
}

TEST_CASE("matmul: a row's product depends on its way, not on the rows beside it",
          "[backend][quick][threads][lanes]") {
    ThreadTeam team(2);
    uint32_t seed = 1;
    for (const KernelTable* table : matmul_tables()) {
        auto scratch = MatmulScratch::create(
            {.num_lanes = team.size(), .max_rows = 21, .max_in = 1280, .max_fine_in = 1280});
        REQUIRE(scratch.ok());
        const Case c{table, &team, &*scratch};
        for (const TensorType type : hokku::testing::weight_types()) {
            const bool is_super = traits_of(type).block_values > 32;
            check_ways(c, type, is_super ? 1280 : 1120, seed += 2);
            // Single vectors take two rows of so many values as one.
            if (!is_super) check_ways(c, type, 576, seed += 2);
        }
    }
}

/// Of a few products with every type.
void check_same_bits(const KernelTable* one, const KernelTable* other) {
    ThreadTeam team(2);
    auto scratch = MatmulScratch::create({.num_lanes = team.size(), .max_rows = 13, .max_in = 768});
    REQUIRE(scratch.ok());
    const Rows x(13, 768, 1);
    for (const TensorType type : hokku::testing::weight_types()) {
        const GuardedMatrix matrix(type, 37, 768, BlockKind::plain, 2);
        for (const uint32_t num_rows : {1u, 13u}) {
            std::vector<float> outs[2];
            for (int i = 0; i < 2; ++i) {
                outs[i].resize(size_t{num_rows} * 37);
                const MatmulTarget target{&matrix.weight(), nullptr, outs[i].data(), 37};
                run({i ? other : one, &team, &*scratch}, x, num_rows, {&target, 1});
            }
            INFO(traits_of(type).name << ", " << num_rows << " rows");
            CHECK(outs[0] == outs[1]);
        }
    }
}

TEST_CASE("matmul: with AVX-VNNI the same bits as with AVX2", "[backend][quick]") {
    const KernelTable *avx2 = find_kernels("avx2"), *avxvnni = find_kernels("avxvnni");
    if (!avx2 || !avxvnni) return hokku::testing::report_skip("hardware: no AVX-VNNI here");
    check_same_bits(avx2, avxvnni);
}

TEST_CASE("matmul: points gathered from memory and permuted give the same bits",
          "[backend][quick]") {
    const KernelTable *avx512 = find_kernels("avx512"), *other = other_look_ups();
    if (!avx512) return hokku::testing::report_skip("hardware: no AVX-512 here");
    CHECK(avx512->matmul->gemv[static_cast<uint32_t>(TensorType::iq1_s)].run !=
          other->matmul->gemv[static_cast<uint32_t>(TensorType::iq1_s)].run);
    check_same_bits(avx512, other);
}

TEST_CASE("matmul: extreme blocks", "[backend][quick]") {
    check_types({5, 33}, {256, 768}, {1, 5}, BlockKind::extreme, 2);
}

TEST_CASE("matmul: targets of different types share x", "[backend][quick]") {
    ThreadTeam team(2);
    const GuardedMatrix a(TensorType::q5_0, 64, 256, BlockKind::plain, 1);
    const GuardedMatrix b(TensorType::q8_0, 40, 256, BlockKind::plain, 2);
    const GuardedMatrix d(TensorType::iq3_s, 9, 256, BlockKind::plain, 3);
    const GuardedMatrix e(TensorType::q4_k, 33, 256, BlockKind::plain, 4);
    for (const KernelTable* table : matmul_tables()) {
        auto scratch =
            MatmulScratch::create({.num_lanes = team.size(), .max_rows = 8, .max_in = 256});
        REQUIRE(scratch.ok());
        const Case c{table, &team, &*scratch};
        for (const uint32_t num_rows : {1u, 8u}) {
            const Rows x(num_rows, 256, 5);
            std::vector<float> out(num_rows * 200), alone(num_rows * 200);
            const auto targets_in = [&](std::vector<float>& o) {
                return std::vector<MatmulTarget>{{&a.weight(), nullptr, o.data(), 200},
                                                 {&d.weight(), nullptr, o.data() + 64, 200},
                                                 {&b.weight(), nullptr, o.data() + 73, 200},
                                                 {&e.weight(), nullptr, o.data() + 113, 200}};
            };
            run(c, x, num_rows, targets_in(out));
            for (const MatmulTarget& target : targets_in(alone)) {
                run(c, x, num_rows, {&target, 1});
            }
            CHECK(out == alone);
        }
    }
}

TEST_CASE("matmul: the result does not depend on the number of threads", "[backend][quick]") {
    for (const TensorType type : {TensorType::q4_1, TensorType::q6_k, TensorType::f16}) {
        const GuardedMatrix matrix(type, 37, 768, BlockKind::plain, 9);
        for (const KernelTable* table : matmul_tables()) {
            for (const uint32_t num_rows : {1u, 6u}) {
                const Rows x(num_rows, 768, 10);
                std::vector<std::vector<float>> results;
                for (const uint32_t num_threads : {1u, 2u, 3u}) {
                    ThreadTeam team(num_threads);
                    auto scratch = MatmulScratch::create(
                        {.num_lanes = team.size(), .max_rows = 8, .max_in = 768});
                    REQUIRE(scratch.ok());
                    std::vector<float> out(num_rows * 37);
                    const MatmulTarget target{&matrix.weight(), nullptr, out.data(), 37};
                    run({table, &team, &*scratch}, x, num_rows, {&target, 1});
                    results.push_back(out);
                }
                CHECK(results[0] == results[1]);
                CHECK(results[0] == results[2]);
            }
        }
    }
}

TEST_CASE("matmul: a slice of columns in place equals a copy of the slice", "[backend][quick]") {
    ThreadTeam team(2);
    uint32_t seed = 1;
    for (const TensorType type : hokku::testing::weight_types()) {
        const GuardedMatrix matrix(type, 37, 1024, BlockKind::plain, ++seed);
        for (const auto& [first, count] : {std::pair{256u, 256u}, {512u, 512u}}) {
            WeightMatrix slice = matrix.weight();
            slice.data += slice.bytes_of(first);
            slice.cols = count;
            std::vector<std::byte> bytes(slice.rows * slice.row_bytes());
            for (size_t r = 0; r < slice.rows; ++r)
                std::memcpy(bytes.data() + r * slice.row_bytes(), slice.data + r * slice.row_stride,
                            slice.row_bytes());
            WeightMatrix copy = slice;
            copy.data = bytes.data();
            copy.row_stride = copy.row_bytes();
            for (const KernelTable* table : matmul_tables()) {
                INFO(table->name << ", " << traits_of(type).name << ", " << count << " columns");
                auto scratch = MatmulScratch::create(
                    {.num_lanes = team.size(), .max_rows = 13, .max_in = 512, .max_fine_in = 512});
                REQUIRE(scratch.ok());
                for (const uint32_t num_rows : {1u, 2u, 13u}) {
                    const Rows x(num_rows, count, ++seed);
                    std::vector<float> of_slice(num_rows * 37), of_copy(num_rows * 37);
                    const MatmulTarget in_place{&slice, nullptr, of_slice.data(), 37};
                    const MatmulTarget copied{&copy, nullptr, of_copy.data(), 37};
                    run({table, &team, &*scratch}, x, num_rows, {&in_place, 1}, Precision::fine);
                    run({table, &team, &*scratch}, x, num_rows, {&copied, 1}, Precision::fine);
                    CHECK(of_slice == of_copy);
                }
            }
        }
    }
}

TEST_CASE("matmul: a weight without columns gives the bias", "[backend][quick]") {
    ThreadTeam team(2);
    const GuardedMatrix matrix(TensorType::q8_0, 19, 32, BlockKind::plain, 1);
    WeightMatrix weight = matrix.weight();
    weight.cols = 0;
    const std::vector<float> bias(19, 2.5f);
    for (const KernelTable* table : matmul_tables()) {
        auto scratch =
            MatmulScratch::create({.num_lanes = team.size(), .max_rows = 7, .max_in = 32});
        REQUIRE(scratch.ok());
        for (const uint32_t num_rows : {1u, 7u}) {
            const Rows x(num_rows, 0, 1);
            std::vector<float> out(num_rows * 19, NAN);
            const MatmulTarget target{&weight, bias.data(), out.data(), 19};
            run({table, &team, &*scratch}, x, num_rows, {&target, 1});
            CHECK(out == std::vector<float>(num_rows * 19, 2.5f));
        }
    }
}

TEST_CASE("matmul: NaN and infinity in x reach the output", "[backend][quick]") {
    ThreadTeam team(1);
    for (const TensorType type : {TensorType::q4_0, TensorType::q8_0, TensorType::q4_k,
                                  TensorType::q6_k, TensorType::f32, TensorType::iq2_xs}) {
        const GuardedMatrix matrix(type, 16, 256, BlockKind::plain, 3);
        for (const KernelTable* table : matmul_tables()) {
            auto scratch = MatmulScratch::create({.num_lanes = 1, .max_rows = 2, .max_in = 256});
            REQUIRE(scratch.ok());
            for (const float bad : {NAN, INFINITY, -INFINITY}) {
                for (const uint32_t num_rows : {1u, 2u}) {
                    Rows x(num_rows, 256, 10);
                    x.storage[1 + (num_rows - 1) * x.stride + 77] = bad;
                    std::vector<float> out(num_rows * 16);
                    const MatmulTarget target{&matrix.weight(), nullptr, out.data(), 16};
                    run({table, &team, &*scratch}, x, num_rows, {&target, 1});
                    for (size_t i = 0; i < 16; ++i) {
                        const bool is_finite = std::isfinite(out[(num_rows - 1) * 16 + i]);
                        // A weight of exactly zero may keep an infinity out, not a NaN.
                        if (std::isnan(bad)) CHECK_FALSE(is_finite);
                        if (num_rows == 2) CHECK(std::isfinite(out[i]));
                    }
                    const auto last = out.end() - 16;
                    CHECK_FALSE(std::all_of(last, out.end(),
                                            [](float value) { return std::isfinite(value); }));
                }
            }
        }
    }
}
