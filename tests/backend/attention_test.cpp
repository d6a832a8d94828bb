// SPDX-License-Identifier: Apache-2.0
// attention() of every kernel table and KV type against softmax in double precision, over paged
// keys and values whose blocks lie in no order. What is stored is compared with what was appended,
// and the result with the exact one for what is stored.
#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "backend/available_kernels.h"
#include "backend/backend.h"
#include "backend/cpu/kv_layout.h"
#include "backend/cpu/thread_team.h"
#include "backend/half.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cpu;

namespace {

struct Shape {
    uint32_t num_heads, num_kv_heads, key_dim, value_dim;
};

constexpr KvType kTypes[] = {KvType::f32, KvType::f16, KvType::q8_0};

/// One sequence with its history: plain keys and values for the reference, and pages.
struct Sequence {
    Sequence(const Shape& shape_, KvType type_, uint32_t num_cached_, uint32_t num_rows_,
             uint32_t seed)
        : shape(shape_), type(type_), num_cached(num_cached_), num_rows(num_rows_) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        const auto fill = [&](std::vector<float>& values, size_t n, float scale) {
            values.resize(n);
            for (float& value : values) value = scale * normal(random);
        };
        const uint32_t total = num_cached + num_rows;
        fill(q, size_t{num_rows} * shape.num_heads * shape.key_dim, 2.0f);
        fill(k, size_t{total} * shape.num_kv_heads * shape.key_dim, 1.0f);
        fill(v, size_t{total} * shape.num_kv_heads * shape.value_dim, 1.0f);
        const uint32_t num_blocks = (total + kKvBlockTokens - 1) / kKvBlockTokens;
        for (uint32_t i = 0; i < num_blocks; ++i) blocks.push_back(2 * (num_blocks - 1 - i) + 1);
        // Stale values of other sequences must have no influence: these bytes are not a number.
        key_pages.assign(size_t{2} * num_blocks * key_stride(), std::byte{0xff});
        value_pages.assign(size_t{2} * num_blocks * value_stride(), std::byte{0xff});
    }
    [[nodiscard]] size_t key_stride() const {
        return shape.num_kv_heads * kv_key_head_bytes(type, shape.key_dim) + 128;
    }
    [[nodiscard]] size_t value_stride() const {
        return shape.num_kv_heads * kv_value_head_bytes(type, shape.value_dim) + 64;
    }
    KvPages pages() {
        return {type,         key_pages.data(), value_pages.data(),
                key_stride(), value_stride(),   blocks.data()};
    }
    /// What the pages hold, in the order of k and v.
    [[nodiscard]] std::vector<float> stored_keys() const {
        std::vector<float> out;
        for_each_head(key_pages, key_stride(), kv_key_head_bytes(type, shape.key_dim),
                      [&](const std::byte* head, size_t slot) {
                          for (size_t d = 0; d < shape.key_dim; ++d)
                              out.push_back(read(head, d * 64 + slot, shape.key_dim, d, slot));
                      });
        return out;
    }
    [[nodiscard]] std::vector<float> stored_values() const {
        const size_t row =
            type == KvType::f32 ? shape.value_dim : (shape.value_dim + 15u) / 16 * 16;
        std::vector<float> out;
        for_each_head(value_pages, value_stride(), kv_value_head_bytes(type, shape.value_dim),
                      [&](const std::byte* head, size_t slot) {
                          for (size_t d = 0; d < shape.value_dim; ++d)
                              out.push_back(read(head, slot * row + d, row, d, slot));
                      });
        return out;
    }

    Shape shape;
    KvType type;
    uint32_t num_cached, num_rows;
    std::vector<float> q, k, v;
    std::vector<std::byte> key_pages, value_pages;
    std::vector<uint32_t> blocks;

  private:
    template <class Function>
    void for_each_head(const std::vector<std::byte>& pages, size_t stride, size_t head_bytes,
                       Function function) const {
        for (size_t p = 0; p < num_cached + num_rows; ++p)
            for (size_t head = 0; head < shape.num_kv_heads; ++head)
                function(pages.data() + blocks[p / 64] * stride + head * head_bytes, p % 64);
    }
    /// Element `index` of a head, after docs/formats.md.
    [[nodiscard]] float read(const std::byte* head, size_t index, size_t row, size_t dim,
                             size_t slot) const {
        if (type == KvType::f32) return load_as<float>(head + 4 * index);
        if (type == KvType::f16) return half_to_float(load_as<uint16_t>(head + 2 * index));
        const auto scale = load_as<uint16_t>(head + row * 64 + (dim / 32 * 64 + slot) * 2);
        return static_cast<float>(load_as<int8_t>(head + index)) * half_to_float(scale);
    }
    template <class T>
    static T load_as(const std::byte* bytes) {
        T value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }
};

struct Options {
    float softcap = 0;
    uint32_t window = 0;
    std::vector<float> sinks = {};
};

std::vector<double> reference(const Sequence& s, const Options& options, float scale) {
    const Shape& d = s.shape;
    const std::vector<float> keys = s.stored_keys(), values = s.stored_values();
    std::vector<double> out(size_t{s.num_rows} * d.num_heads * d.value_dim);
    for (uint32_t row = 0; row < s.num_rows; ++row) {
        const uint32_t position = s.num_cached + row;
        const uint32_t begin =
            options.window > 0 && position >= options.window ? position - options.window + 1 : 0;
        for (uint32_t head = 0; head < d.num_heads; ++head) {
            const uint32_t kv_head = head / (d.num_heads / d.num_kv_heads);
            const float* q = s.q.data() + (size_t{row} * d.num_heads + head) * d.key_dim;
            std::vector<double> logits;
            for (uint32_t p = begin; p <= position; ++p) {
                const float* k = keys.data() + (size_t{p} * d.num_kv_heads + kv_head) * d.key_dim;
                double dot = 0;
                for (uint32_t i = 0; i < d.key_dim; ++i) dot += double{q[i]} * k[i];
                dot *= scale;
                if (options.softcap > 0) dot = options.softcap * std::tanh(dot / options.softcap);
                logits.push_back(dot);
            }
            double max = *std::max_element(logits.begin(), logits.end()), sum = 0;
            if (!options.sinks.empty()) max = std::max(max, double{options.sinks[head]});
            if (!options.sinks.empty()) sum = std::exp(options.sinks[head] - max);
            for (double& logit : logits) sum += logit = std::exp(logit - max);
            double* o = out.data() + (size_t{row} * d.num_heads + head) * d.value_dim;
            for (uint32_t p = begin; p <= position; ++p) {
                const float* v =
                    values.data() + (size_t{p} * d.num_kv_heads + kv_head) * d.value_dim;
                for (uint32_t i = 0; i < d.value_dim; ++i) o[i] += logits[p - begin] / sum * v[i];
            }
        }
    }
    return out;
}

/// Appends everything in two pieces, then attends twice in a row (as for two sequences).
std::vector<float> compute(const KernelTable& table, Sequence& s, const Options& options,
                           float scale, uint32_t num_threads) {
    ThreadTeam team(num_threads);
    auto scratch = AttentionScratch::create({.num_lanes = team.size(),
                                             .max_heads = s.shape.num_heads,
                                             .max_value_dim = s.shape.value_dim});
    REQUIRE(scratch.ok());
    std::vector<float> out(size_t{s.num_rows} * s.shape.num_heads * s.shape.value_dim, 99.0f);
    std::vector<float> again = out;
    struct Context {
        const KernelTable* table;
        Sequence* s;
        AttentionScratch* scratch;
        AttentionCall call;
        float* again;
    } context{&table,
              &s,
              &*scratch,
              {.q = s.q.data(),
               .q_stride = size_t{s.shape.num_heads} * s.shape.key_dim,
               .out = out.data(),
               .out_stride = size_t{s.shape.num_heads} * s.shape.value_dim,
               .kv = s.pages(),
               .num_rows = s.num_rows,
               .first_position = s.num_cached,
               .num_heads = s.shape.num_heads,
               .num_kv_heads = s.shape.num_kv_heads,
               .key_dim = s.shape.key_dim,
               .value_dim = s.shape.value_dim,
               .scale = scale,
               .logit_softcap = options.softcap,
               .window = options.window,
               .sinks = options.sinks.empty() ? nullptr : options.sinks.data()},
              again.data()};
    team.run(
        [](void* c, Lane lane) {
            auto& x = *static_cast<Context*>(c);
            Sequence& q = *x.s;
            const size_t k_stride = size_t{q.shape.num_kv_heads} * q.shape.key_dim;
            const size_t v_stride = size_t{q.shape.num_kv_heads} * q.shape.value_dim;
            append_kv(lane, q.pages(), q.k.data(), k_stride, q.v.data(), v_stride, q.num_cached, 0,
                      q.shape.num_kv_heads, q.shape.key_dim, q.shape.value_dim);
            append_kv(lane, q.pages(), q.k.data() + q.num_cached * k_stride, k_stride,
                      q.v.data() + q.num_cached * v_stride, v_stride, q.num_rows, q.num_cached,
                      q.shape.num_kv_heads, q.shape.key_dim, q.shape.value_dim);
            lane.barrier();
            attention(lane, *x.table, *x.scratch, x.call);
            AttentionCall second = x.call;
            second.out = x.again;
            attention(lane, *x.table, *x.scratch, second);
        },
        &context);
    CHECK(out == again);
    return out;
}

/// What is stored is as near to what was appended as its type allows.
void check_stored(KvType type, const std::vector<float>& appended, const std::vector<float>& stored,
                  size_t dim) {
    REQUIRE(stored.size() == appended.size());
    size_t num_far = 0;
    for (size_t head = 0; head < stored.size(); head += dim) {
        for (size_t group = 0; group < dim; group += 32) {
            const size_t n = std::min<size_t>(32, dim - group);
            float largest = 0;
            for (size_t i = 0; i < n; ++i)
                largest = std::max(largest, std::abs(appended[head + group + i]));
            for (size_t i = head + group; i < head + group + n; ++i) {
                const double error = std::abs(double{stored[i]} - double{appended[i]});
                double bound = 0;
                // Half a unit in the last of 11 bits, or of the subnormals.
                if (type == KvType::f16)
                    bound = std::max(std::abs(double{appended[i]}) * 0x1p-11, 0x1p-25);
                // Half a scale, which is a half rounded up; 2^-20 for 1 / scale in float32.
                if (type == KvType::q8_0)
                    bound = 0.5 * std::max(largest / 127.0 * (1 + 0x1p-10), 0x1p-24) *
                            (1 + 127 * 0x1p-20);
                if (!(error <= bound)) ++num_far;
            }
        }
    }
    CHECK(num_far == 0);
}

void check(const Shape& shape, KvType type, uint32_t num_cached, uint32_t num_rows,
           const Options& options) {
    Sequence s(shape, type, num_cached, num_rows, num_cached + 31 * num_rows);
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.key_dim));
    std::vector<double> want;
    for (const KernelTable* table : hokku::testing::tables_by_attention()) {
        std::vector<float> first;
        for (const uint32_t num_threads : {1u, 2u, 3u}) {
            if (type != KvType::f32 && num_threads != 2) continue;
            const std::vector<float> got = compute(*table, s, options, scale, num_threads);
            if (first.empty()) first = got;
            CHECK(got == first);  // Whatever the number of threads.
        }
        INFO(table->name << " " << kv_type_name(type) << " heads " << shape.num_heads << "/"
                         << shape.num_kv_heads << " dims " << shape.key_dim << "/"
                         << shape.value_dim << " cached " << num_cached << " rows " << num_rows
                         << " window " << options.window);
        if (want.empty()) {
            check_stored(type, s.k, s.stored_keys(), shape.key_dim);
            check_stored(type, s.v, s.stored_values(), shape.value_dim);
            want = reference(s, options, scale);
        }
        double error = 0, size = 0;
        for (size_t i = 0; i < want.size(); ++i) {
            error += (first[i] - want[i]) * (first[i] - want[i]);
            size += want[i] * want[i];
        }
        // Logits of size 5 carry 2^-24 each; sums of a few hundred terms add their share.
        CHECK(std::sqrt(error / size) < 2e-6);
    }
}

void check(const Shape& shape, uint32_t num_cached, uint32_t num_rows, const Options& options) {
    for (const KvType type : kTypes) check(shape, type, num_cached, num_rows, options);
}

}  // namespace

TEST_CASE("attention: decode and prefill over lengths around the blocks",
          "[backend][quick][threads]") {
    for (const uint32_t num_cached : {0u, 1u, 62u, 63u, 64u, 65u, 300u}) {
        for (const uint32_t num_rows : {1u, 2u, 7u, 33u, 70u}) {
            check({6, 2, 64, 64}, num_cached, num_rows, {});
        }
    }
}

TEST_CASE("attention: groups and head sizes of every kind", "[backend][quick]") {
    for (const Shape& shape : {Shape{14, 2, 64, 64}, Shape{4, 1, 256, 256}, Shape{9, 3, 64, 64},
                               Shape{5, 5, 16, 16}, Shape{8, 1, 80, 80}, Shape{4, 2, 24, 40},
                               Shape{16, 1, 192, 128}, Shape{3, 1, 8, 8}, Shape{32, 1, 32, 32}}) {
        check(shape, 130, 1, {});
        check(shape, 10, 9, {});
        check(shape, 0, 67, {});
    }
}

TEST_CASE("attention: windows, softcap and sinks", "[backend][quick]") {
    const Shape shape{4, 2, 32, 32};
    for (const uint32_t window : {1u, 5u, 63u, 64u, 65u, 128u}) {
        for (const uint32_t num_cached :
             {0u, window - 1, window, window + 1, 2 * window, 2 * window + 70}) {
            for (const uint32_t num_rows : {1u, 3u, 80u}) {
                check(shape, num_cached, num_rows, {.window = window});
            }
        }
    }
    check(shape, 100, 5, {.softcap = 3.0f});
    check(shape, 400, 1, {.softcap = 50.0f});
    check(shape, 100, 5, {.sinks = {0.5f, -2.0f, 40.0f, 1.0f}});
    check(shape, 500, 1, {.window = 100, .sinks = {0.5f, -2.0f, 4.0f, 1.0f}});
}

TEST_CASE("attention: keys with large biases keep their bounds in every type", "[backend][quick]") {
    // Qwen2's key biases reach 175 in some dimensions and are small in the others.
    const Shape shape{14, 2, 64, 64};
    for (const KvType type : kTypes) {
        Sequence s(shape, type, 150, 3, 7);
        for (size_t i = 0; i < s.k.size(); ++i) {
            if (i % 64 == 5) s.k[i] += 175.0f;
            if (i % 64 == 40) s.k[i] -= 34.0f;
        }
        for (const KernelTable* table : hokku::testing::tables_by_attention()) {
            const std::vector<float> got = compute(*table, s, {}, 0.125f, 2);
            INFO(table->name << " " << kv_type_name(type));
            check_stored(type, s.k, s.stored_keys(), 64);
            const std::vector<double> want = reference(s, {}, 0.125f);
            double error = 0, size = 0;
            for (size_t i = 0; i < want.size(); ++i) {
                error += (got[i] - want[i]) * (got[i] - want[i]);
                size += want[i] * want[i];
            }
            // Logits of size 175 * 4 / 8: what float32 loses of them comes out in the weights.
            CHECK(std::sqrt(error / size) < 5e-5);
        }
    }
}

TEST_CASE("append_kv: what no number can be stored for is stored as what it is",
          "[backend][quick]") {
    const Shape shape{1, 1, 40, 40};
    const auto append = [&](KvType type, float value) {
        Sequence s(shape, type, 0, 1, 1);
        s.k[33] = s.v[33] = value;
        ThreadTeam team(1);
        team.run(
            [](void* context, Lane lane) {
                auto& x = *static_cast<Sequence*>(context);
                append_kv(lane, x.pages(), x.k.data(), 40, x.v.data(), 40, 1, 0, 1, 40, 40);
            },
            &s);
        CHECK(std::isnan(s.stored_keys()[33]) == std::isnan(s.stored_values()[33]));
        return s.stored_keys();
    };
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(append(KvType::f16, 1e6f)[33] == 65504.0f);
    CHECK(append(KvType::f16, -1e6f)[33] == -65504.0f);
    CHECK(append(KvType::f16, inf)[33] == inf);
    CHECK(append(KvType::q8_0, 1e6f)[33] == Approx(1e6f).epsilon(0.001));
    CHECK(append(KvType::q8_0, 1e9f)[33] == 127.0f * 65504.0f);
    CHECK(std::isnan(append(KvType::q8_0, inf)[33]));  // found by the check of the logits
    CHECK(std::isnan(append(KvType::q8_0, -inf)[33]));
    CHECK(append(KvType::q8_0, 0.0f)[33] == 0.0f);
    for (const KvType type : kTypes) {
        CHECK(std::isnan(append(type, std::numeric_limits<float>::quiet_NaN())[33]));
        CHECK(std::isfinite(append(type, 1e-7f)[33]));
    }
}

TEST_CASE("attention: a long history is split over the lanes", "[backend]") {
    check({4, 1, 64, 64}, 20000, 1, {});
    check({14, 2, 64, 64}, 5000, 3, {});
    check({14, 2, 64, 64}, 2000, 200, {});
}

namespace {

/// Of the rows of a step so many that differ from what they are when each is alone.
uint32_t count_changed_rows(const KernelTable& table, const Sequence& whole, const Options& options,
                            std::span<const uint32_t> rows) {
    Sequence step = whole;
    const std::vector<float> together = compute(table, step, options, 0.1f, 2);
    const size_t q_row = whole.q.size() / whole.num_rows;
    const size_t out_row = together.size() / whole.num_rows;
    uint32_t num_changed = 0;
    for (const uint32_t row : rows) {
        Sequence alone = whole;
        alone.num_cached += row;
        alone.num_rows = 1;
        const auto q = std::span(whole.q).subspan(row * q_row, q_row);
        alone.q.assign(q.begin(), q.end());
        const std::vector<float> got = compute(table, alone, options, 0.1f, 2);
        const auto want = std::span(together).subspan(row * out_row, out_row);
        if (!std::equal(want.begin(), want.end(), got.begin(), got.end())) ++num_changed;
    }
    return num_changed;
}

}  // namespace

// The text must be the same whether tokens are guessed ahead or not, and whether a prompt comes
// from the cache or not.
TEST_CASE("attention: a row in a step of any length is what it is alone, to the bit", "[backend]") {
    const Shape shapes[] = {{4, 1, 32, 48}, {14, 2, 16, 16}, {32, 8, 16, 16}};
    struct Place {
        uint32_t num_cached, num_rows, window;
    };
    // Windows that begin and end within the step's blocks, and lengths at which the cut changes.
    const Place places[] = {{3, 8, 0},      {4093, 8, 0},    {7670, 40, 0},  {7670, 150, 0},
                            {1084, 8, 512}, {1340, 40, 512}, {7000, 8, 7680}};
    const uint32_t rows[] = {0, 1, 4, 7, 8, 11, 24, 39};
    for (const KernelTable* table : hokku::testing::tables_by_attention()) {
        for (const Shape& shape : shapes) {
            for (const Place& place : places) {
                const KvType type = kTypes[place.num_cached % 3];
                CAPTURE(table->name, kv_type_name(type), shape.num_heads, place.num_cached,
                        place.num_rows, place.window);
                const Sequence whole(shape, type, place.num_cached, place.num_rows, 1);
                const size_t num_rows = place.num_rows < 40 ? 4 : std::size(rows);
                CHECK(count_changed_rows(*table, whole, {.window = place.window},
                                         std::span(rows).first(num_rows)) == 0);
            }
        }
    }
}

// The windows of a prompt's rows reach over more blocks than one window does.
TEST_CASE("attention: the windows of many rows are cut into no more parts than there is room for",
          "[backend]") {
    const Options options{.window = 7616};
    constexpr uint32_t kFirstSeen = 3 * kKvBlockTokens + 63;  // The last position of a split.
    Sequence s({1, 1, 32, 32}, KvType::f32, kFirstSeen + options.window - 1, 512, 5);
    std::vector<double> want;
    for (const KernelTable* table : hokku::testing::tables_by_attention()) {
        INFO(table->name);
        const std::vector<float> got = compute(*table, s, options, 0.1f, 3);
        if (want.empty()) want = reference(s, options, 0.1f);  // of what is stored by then
        double error = 0, size = 0;
        for (size_t i = 0; i < want.size(); ++i) {
            error += (got[i] - want[i]) * (got[i] - want[i]);
            size += want[i] * want[i];
        }
        CHECK(std::sqrt(error / size) < 2e-6);
    }
}

TEST_CASE("attention: a window without an end is none", "[backend][quick]") {
    constexpr uint32_t kEndless = std::numeric_limits<uint32_t>::max();
    Sequence s({1, 1, 16, 16}, KvType::f32, 9000, 3, 5);
    for (const KernelTable* table : hokku::testing::tables_by_attention()) {
        INFO(table->name);
        CHECK(
            (compute(*table, s, {.window = kEndless}, 0.1f, 2) == compute(*table, s, {}, 0.1f, 2)));
    }
}
