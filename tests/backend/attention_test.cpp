// SPDX-License-Identifier: Apache-2.0
// attention() of every kernel table against softmax in double precision, over paged keys and
// values whose blocks lie in no order.
#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "backend/available_kernels.h"
#include "backend/backend.h"
#include "backend/cpu/thread_team.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cpu;

namespace {

struct Shape {
    uint32_t num_heads, num_kv_heads, key_dim, value_dim;
};

/// One sequence with its history: plain keys and values for the reference, and pages.
struct Sequence {
    Sequence(const Shape& shape_, uint32_t num_cached_, uint32_t num_rows_, uint32_t seed)
        : shape(shape_), num_cached(num_cached_), num_rows(num_rows_) {
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
        // Stale values of other sequences must have no influence.
        key_pages.assign(size_t{2} * num_blocks * key_stride(), NAN);
        value_pages.assign(size_t{2} * num_blocks * value_stride(), NAN);
    }
    [[nodiscard]] size_t key_stride() const {
        return size_t{shape.num_kv_heads} * shape.key_dim * kKvBlockTokens + 32;
    }
    [[nodiscard]] size_t value_stride() const {
        return size_t{shape.num_kv_heads} * shape.value_dim * kKvBlockTokens + 16;
    }
    KvPages pages() {
        return {key_pages.data(), value_pages.data(), key_stride(), value_stride(), blocks.data()};
    }
    Shape shape;
    uint32_t num_cached, num_rows;
    std::vector<float> q, k, v, key_pages, value_pages;
    std::vector<uint32_t> blocks;
};

struct Options {
    float softcap = 0;
    uint32_t window = 0;
    std::vector<float> sinks = {};
};

std::vector<double> reference(const Sequence& s, const Options& options, float scale) {
    const Shape& d = s.shape;
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
                const float* k = s.k.data() + (size_t{p} * d.num_kv_heads + kv_head) * d.key_dim;
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
                const float* v = s.v.data() + (size_t{p} * d.num_kv_heads + kv_head) * d.value_dim;
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

void check(const Shape& shape, uint32_t num_cached, uint32_t num_rows, const Options& options) {
    Sequence s(shape, num_cached, num_rows, num_cached + 31 * num_rows);
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.key_dim));
    const std::vector<double> want = reference(s, options, scale);
    for (const KernelTable* table : hokku::testing::available_tables()) {
        std::vector<float> first;
        for (const uint32_t num_threads : {1u, 2u, 3u}) {
            const std::vector<float> got = compute(*table, s, options, scale, num_threads);
            if (first.empty()) first = got;
            CHECK(got == first);  // Whatever the number of threads.
        }
        double error = 0, size = 0;
        for (size_t i = 0; i < want.size(); ++i) {
            error += (first[i] - want[i]) * (first[i] - want[i]);
            size += want[i] * want[i];
        }
        INFO(table->name << " heads " << shape.num_heads << "/" << shape.num_kv_heads << " dims "
                         << shape.key_dim << "/" << shape.value_dim << " cached " << num_cached
                         << " rows " << num_rows << " window " << options.window);
        // Logits of size 5 carry 2^-24 each; sums of a few hundred terms add their share.
        CHECK(std::sqrt(error / size) < 2e-6);
    }
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

TEST_CASE("attention: a long history is split over the lanes", "[backend]") {
    check({4, 1, 64, 64}, 20000, 1, {});
    check({14, 2, 64, 64}, 5000, 3, {});
    check({14, 2, 64, 64}, 2000, 200, {});
}
