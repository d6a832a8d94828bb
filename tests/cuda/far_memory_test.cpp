// SPDX-License-Identifier: Apache-2.0
// Offsets of more than 2^32: contexts and experts of many gigabytes without the memory. A pool is
// said to begin so far in front of the few blocks there are that these have large numbers. Whoever
// computes with 32 bits reads and writes somewhere else.
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/pages.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// Where memory would begin whose byte `offset` lies at `address`.
template <class T>
T* begin_of(T* address, uint64_t offset) {
    const auto at = reinterpret_cast<uint64_t>(address);
    REQUIRE(at > offset);
    return reinterpret_cast<T*>(at - offset);
}

/// Block 0 of a pool is said to be this one.
constexpr uint32_t kFirstBlock = 5'000'000;

/// Pools of keys and values on the device, under their own numbers of blocks or large ones.
struct FarPools {
    FarPools(const AttentionCase& c, bool is_far)
        : pages(c), keys(pages.keys), values(pages.values), tables(tables_of(pages, is_far)) {
        const auto bytes = [&](uint32_t dim) {
            const uint64_t block = c.num_kv_heads * cuda::kv_head_bytes(c.format, dim);
            // Values as well as bytes.
            REQUIRE(kFirstBlock * uint64_t{64} * dim > uint64_t{UINT32_MAX});
            return is_far ? kFirstBlock * block : 0;
        };
        view = {begin_of(keys.pointer(), bytes(c.key_dim)),
                begin_of(values.pointer(), bytes(c.value_dim)),
                tables.pointer(),
                pages.max_blocks,
                c.num_kv_heads,
                c.key_dim,
                c.value_dim,
                c.format};
    }
    static std::vector<uint32_t> tables_of(const Pages& pages, bool is_far) {
        std::vector<uint32_t> tables = pages.tables;
        for (uint32_t& block : tables) block += is_far ? kFirstBlock : 0;
        return tables;
    }
    Pages pages;
    DeviceBuffer<uint8_t> keys, values;
    DeviceBuffer<uint32_t> tables;
    cuda::KvPool view;
};

std::vector<float> attend(const AttentionCase& c, bool is_far) {
    const FarPools pools(c, is_far);
    const uint32_t heads = c.group * c.num_kv_heads, num_splits = pools.pages.max_blocks;
    const DeviceBuffer<float> q(activations(heads * c.key_dim, 17));
    const DeviceBuffer<uint32_t> positions(std::vector<uint32_t>{c.lengths[0] - 1});
    const DeviceBuffer<float> sums(size_t{heads} * num_splits * c.value_dim),
        maxima(heads * num_splits), weights(heads * num_splits);
    constexpr const char* kNames[] = {"attention_f32_", "attention_f16_", "attention_q8_0_"};
    TestDevice::get().run((kNames[c.format] + std::to_string(c.group)).c_str(),
                          {.grid_x = c.num_kv_heads, .grid_y = num_splits, .num_threads = 128},
                          cuda::AttentionParams{.q = q.pointer(),
                                                .positions = positions.pointer(),
                                                .kv = pools.view,
                                                .sums = sums.pointer(),
                                                .maxima = maxima.pointer(),
                                                .weights = weights.pointer(),
                                                .q_stride = heads * c.key_dim,
                                                .num_heads = heads,
                                                .split_positions = 64,
                                                .window = 0,
                                                .scale = 0.125f,
                                                .softcap = 0});
    return sums.read();
}

std::vector<float> attend_flash(const AttentionCase& c, bool is_far) {
    const FarPools pools(c, is_far);
    const uint32_t heads = c.group * c.num_kv_heads, num_rows = 5, length = c.lengths[0];
    const DeviceBuffer<float> q(activations(size_t{num_rows} * heads * c.key_dim, 17));
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < num_rows; ++i) numbers.push_back(length - num_rows + i);
    const DeviceBuffer<uint32_t> positions(numbers), bounds(std::vector<uint32_t>{0, num_rows});
    const DeviceBuffer<float> out(size_t{num_rows} * heads * c.value_dim);
    TestDevice::get().run(c.format == cuda::kKvF16 ? "flash_f16_64" : "flash_q8_0_64",
                          {.grid_x = 1,
                           .grid_y = c.num_kv_heads,
                           .num_threads = 32,
                           .shared_bytes = cuda::flash_shared_bytes(c.key_dim, c.value_dim, 1)},
                          cuda::FlashParams{.q = q.pointer(),
                                            .positions = positions.pointer(),
                                            .row_bounds = bounds.pointer(),
                                            .kv = pools.view,
                                            .sinks = nullptr,
                                            .out = out.pointer(),
                                            .q_stride = heads * c.key_dim,
                                            .out_stride = heads * c.value_dim,
                                            .num_heads = heads,
                                            .window = 0,
                                            .scale = 0.125f,
                                            .softcap = 0});
    return out.read();
}

/// What the pools hold once the last position has been appended.
std::vector<uint8_t> append(const AttentionCase& c, bool is_far) {
    const FarPools pools(c, is_far);
    const uint32_t heads = c.group * c.num_kv_heads;
    const DeviceBuffer<float> qkv(
        activations((heads + c.num_kv_heads) * c.key_dim + c.num_kv_heads * c.value_dim, 3));
    const DeviceBuffer<uint32_t> positions(std::vector<uint32_t>{c.lengths[0]});
    TestDevice::get().run("rope_append", {.grid_x = heads + 2 * c.num_kv_heads},
                          cuda::RopeParams{.qkv = qkv.pointer(),
                                           .positions = positions.pointer(),
                                           .cos_sin = qkv.pointer(),
                                           .q_norm = nullptr,
                                           .k_norm = nullptr,
                                           .kv = pools.view,
                                           .num_heads = heads,
                                           .num_dims = 0,
                                           .is_interleaved = 0,
                                           .eps = 1e-5f});
    std::vector<uint8_t> all = pools.keys.read();
    REQUIRE(all != pools.pages.keys);
    const std::vector<uint8_t> values = pools.values.read();
    REQUIRE(values != pools.pages.values);
    all.insert(all.end(), values.begin(), values.end());
    return all;
}

constexpr uint32_t kFormats[] = {cuda::kKvF32, cuda::kKvF16, cuda::kKvQ8_0};

/// Rows of one expert of few there are, under the number `expert` of so many rows each.
cuda::WeightPlanes far_planes(TensorType type, const cuda::WeightPlanes& near, uint32_t expert,
                              uint32_t rows_of_expert) {
    const cuda::PlaneSizes sizes = cuda::plane_sizes(type);
    const uint64_t groups = uint64_t{expert} * rows_of_expert * near.groups;
    REQUIRE(groups > uint64_t{UINT32_MAX});
    cuda::WeightPlanes far = near;
    far.codes = begin_of(near.codes, groups * sizes.codes);
    far.high = begin_of(near.high, groups * sizes.high);
    far.scales = begin_of(static_cast<const uint8_t*>(near.scales), groups * sizes.scales);
    far.supers = begin_of(near.supers, groups / 8 * sizes.supers);
    far.rows = (expert + 1) * rows_of_expert;
    return far;
}

constexpr uint32_t kRows = cuda::kGemmRows, kCols = 512, kExpert = 100, kRowsOfExpert = 1u << 24;

}  // namespace

TEST_CASE("Far memory: blocks of contexts beyond four billion values", "[cuda][quick]") {
    TestDevice::get().set_schedule({});
    for (const uint32_t format : kFormats) {
        INFO("format " << format);
        const AttentionCase c{.group = 2, .num_kv_heads = 2, .format = format, .lengths = {130}};
        CHECK(attend(c, true) == attend(c, false));
        CHECK(append(c, true) == append(c, false));
        if (format != cuda::kKvF32) CHECK(attend_flash(c, true) == attend_flash(c, false));
    }
}

TEST_CASE("Far memory: experts beyond four billion groups, of every type", "[cuda][quick]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const QuantizedBuffer x(2, kCols);
    quantize(activations(2 * kCols, 3), kCols, x);
    // Both outputs are of the last expert.
    std::vector<uint32_t> limits(kExpert + 2, 0);
    limits.back() = 2;
    const DeviceBuffer<uint32_t> far_bounds(limits), near_bounds(std::vector<uint32_t>{0, 2}),
        outputs(std::vector<uint32_t>{0, 1});
    for (const TensorType type : weight_types()) {
        if (!cuda::can_repack(type)) continue;
        INFO(traits_of(type).name);
        const RepackedMatrix weight(type, kRows, kCols, BlockKind::plain, 9);
        std::vector<std::vector<float>> few, many;
        for (const bool is_far : {false, true}) {
            const uint32_t expert = is_far ? kExpert : 0, rows = is_far ? kRowsOfExpert : kRows;
            const cuda::WeightPlanes planes =
                is_far ? far_planes(type, weight.view(), expert, rows) : weight.view();
            const DeviceBuffer<uint32_t> ids(std::vector<uint32_t>{expert, expert});
            const DeviceBuffer<float> out(2 * kRows), out_many(2 * kRows);
            device.run(kernel_name("expert", type).c_str(),
                       {.grid_x = kRows / 8, .grid_y = 2, .num_threads = 256},
                       cuda::ExpertGemvParams{.gemv = {.weight = planes,
                                                       .x = x.view(),
                                                       .bias = nullptr,
                                                       .residual = nullptr,
                                                       .out = out.pointer(),
                                                       .out_stride = kRows,
                                                       .warps_per_row = 2},
                                              .ids = ids.pointer(),
                                              .rows_of_expert = rows,
                                              .outputs_of_vector = 1});
            few.push_back(out.read());
            device.run(kernel_name("expert_gemm", type).c_str(),
                       {.grid_z = expert + 1, .num_threads = 256},
                       cuda::ExpertGemmParams{
                           .gemm = {.weight = planes,
                                    .x = x.view(),
                                    .bias = nullptr,
                                    .residual = nullptr,
                                    .out = out_many.pointer(),
                                    .out_stride = kRows},
                           .outputs = outputs.pointer(),
                           .bounds = is_far ? far_bounds.pointer() : near_bounds.pointer(),
                           .rows_of_expert = rows,
                           .outputs_of_vector = 1});
            many.push_back(out_many.read());
        }
        CHECK(few[0] == few[1]);
        CHECK(many[0] == many[1]);
    }
}

TEST_CASE("Far memory: experts of floats beyond four billion values", "[cuda][quick]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    constexpr uint32_t kFloatCols = 72;
    const DeviceBuffer<float> weight(activations(size_t{kRows} * kFloatCols, 9)),
        x(activations(kFloatCols, 3));
    std::vector<std::vector<float>> results;
    for (const bool is_far : {false, true}) {
        const uint64_t values = uint64_t{kExpert} * kRowsOfExpert * kFloatCols;
        const DeviceBuffer<uint32_t> id(std::vector<uint32_t>{is_far ? kExpert : 0});
        const DeviceBuffer<float> out(kRows);
        device.run("expert_f32", {.grid_x = kRows / 4, .num_threads = 256},
                   cuda::FloatExpertParams{
                       .gemv = {.weight = begin_of(weight.pointer(), is_far ? 4 * values : 0),
                                .x = x.pointer(),
                                .bias = nullptr,
                                .residual = nullptr,
                                .out = out.pointer(),
                                .rows = is_far ? kRowsOfExpert : kRows,
                                .cols = kFloatCols,
                                .x_stride = kFloatCols,
                                .out_stride = kRows,
                                .num_vectors = 1,
                                .warps_per_row = 2},
                       .ids = id.pointer(),
                       .outputs_of_vector = 1});
        results.push_back(out.read());
    }
    CHECK(results[0] == results[1]);
}
