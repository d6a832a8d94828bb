// SPDX-License-Identifier: Apache-2.0
// What is particular to 64-bit ARM. The NEON tables are tested where all tables are.
#include <string>
#include <vector>

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/thread_team.h"
#include "backend/quant_blocks.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::cpu;
using hokku::testing::GuardedMatrix;

namespace {

/// x [num_rows, cols] times the matrix, none of the rows in place.
std::vector<float> multiply(const KernelTable& table, const GuardedMatrix& matrix,
                            const std::vector<float>& x, uint32_t num_rows) {
    const WeightMatrix& weight = matrix.weight();
    ThreadTeam team(1);
    auto scratch =
        MatmulScratch::create({.num_lanes = 1, .max_rows = num_rows, .max_in = weight.cols});
    REQUIRE(scratch.ok());
    std::vector<float> out(size_t{num_rows} * weight.rows);
    const MatmulTarget target{&weight, nullptr, out.data(), weight.rows};
    const MatmulInput input{x.data(), weight.cols, num_rows, 0};
    matmul(Lane{}, table, *scratch, input, {&target, 1});
    return out;
}

}  // namespace

TEST_CASE("cpu_features: ARM's are those of the processor's registers", "[backend][quick]") {
    // Linux lets programs read them. Source: Arm ARM, ID_AA64ISAR0_EL1.DP and
    // ID_AA64ISAR1_EL1.I8MM.
    uint64_t first, second;
    asm("mrs %0, ID_AA64ISAR0_EL1" : "=r"(first));
    asm("mrs %0, ID_AA64ISAR1_EL1" : "=r"(second));
    CHECK(cpu_features().neon_dot == ((first >> 44 & 15) != 0));
    CHECK(cpu_features().neon_i8mm == ((second >> 52 & 15) != 0));
    CHECK(find_kernels("asimd") != nullptr);
    CHECK((find_kernels("neon") != nullptr) == cpu_features().neon_dot);
    CHECK((find_kernels("i8mm") != nullptr) == cpu_features().neon_i8mm);
}

TEST_CASE("kernels: products by i8mm are those of neon to the bit", "[backend][quick]") {
    const KernelTable *neon = find_kernels("neon"), *i8mm = find_kernels("i8mm");
    if (!neon || !i8mm) return hokku::testing::report_skip("hardware: no int8 matrices here");
    constexpr uint32_t kRows = 7, kCols = 512;
    std::vector<float> x(kRows * kCols);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) - 50.0f;
    for (const TensorType type : hokku::testing::weight_types()) {
        const GuardedMatrix matrix(type, 37, kCols, hokku::testing::BlockKind::plain, 5);
        INFO(traits_of(type).name);
        CHECK(multiply(*neon, matrix, x, kRows) == multiply(*i8mm, matrix, x, kRows));
    }
}
