// SPDX-License-Identifier: Apache-2.0
// attention() of every kernel table and KV type against softmax in double precision, over paged
// keys and values whose blocks lie in no order. What is stored is compared with what was appended,
// and the result with the exact one for what is stored.
#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "backend/attention_sequence.h"
#include "backend/available_kernels.h"
#include "backend/cpu/thread_team.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cpu;
using namespace hokku::testing;

namespace {

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

void check(const Shape& shape, KvType type, uint32_t num_cached, uint32_t num_rows,
           const Options& options) {
    Sequence s(shape, type, num_cached, num_rows, num_cached + 31 * num_rows);
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.key_dim));
    std::vector<double> want;
    for (const KernelTable* table : tables_by_attention()) {
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
          "[backend][quick][threads][lanes]") {
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
        for (const KernelTable* table : tables_by_attention()) {
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

TEST_CASE("attention: zeros and the largest halves beside small numbers", "[backend][quick]") {
    const Shape shape{6, 2, 72, 40};
    for (const KvType type : kTypes) {
        Sequence s(shape, type, 140, 2, 11);
        // Some heads' keys and values are zeros; others have outliers, which no query asks for in
        // keys, as rounding would decide about logits of that size.
        const auto spoil = [](std::vector<float>& x, size_t dim) {
            for (size_t head = 0; head < x.size() / dim; ++head) {
                float* values = x.data() + head * dim;
                if (head % 5 == 0) std::fill_n(values, dim, 0.0f);
                if (head % 5 == 1) values[3] = 65504.0f;
                if (head % 5 == 2) values[3] = -65504.0f;
                if (head % 5 == 3) values[35] = head % 2 == 0 ? 65504.0f : -65504.0f;
            }
        };
        spoil(s.k, shape.key_dim);
        spoil(s.v, shape.value_dim);
        for (size_t i = 0; i < s.q.size(); ++i)
            if (i % shape.key_dim == 3 || i % shape.key_dim == 35) s.q[i] = 0;
        for (const KernelTable* table : tables_by_attention()) {
            const std::vector<float> got = compute(*table, s, {}, 0.1f, 2);
            INFO(table->name << " " << kv_type_name(type));
            check_stored(type, s.k, s.stored_keys(), shape.key_dim);
            check_stored(type, s.v, s.stored_values(), shape.value_dim);
            const std::vector<double> want = reference(s, {}, 0.1f);
            // Of each dimension by itself: that with the outliers has values of another size.
            for (size_t d = 0; d < shape.value_dim; ++d) {
                double error = 0, size = 0;
                for (size_t i = d; i < want.size(); i += shape.value_dim) {
                    error += (got[i] - want[i]) * (got[i] - want[i]);
                    size += want[i] * want[i];
                }
                CHECK(std::sqrt(error) <= 1e-5 * std::sqrt(size));
            }
        }
    }
}

TEST_CASE("attention: a long history is split over the lanes", "[backend][lanes]") {
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
TEST_CASE("attention: a row in a step of any length is what it is alone, to the bit",
          "[backend][lanes]") {
    const Shape shapes[] = {{4, 1, 32, 48}, {14, 2, 16, 16}, {32, 8, 16, 16}};
    struct Place {
        uint32_t num_cached, num_rows, window;
    };
    // Windows that begin and end within the step's blocks, and lengths at which the cut changes.
    const Place places[] = {{3, 8, 0},      {4093, 8, 0},    {7670, 40, 0},  {7670, 150, 0},
                            {1084, 8, 512}, {1340, 40, 512}, {7000, 8, 7680}};
    const uint32_t rows[] = {0, 1, 4, 7, 8, 11, 24, 39};
    for (const KernelTable* table : tables_by_attention()) {
        for (size_t i = 0; i < std::size(shapes) * std::size(places); ++i) {
            const Shape& shape = shapes[i % std::size(shapes)];
            const Place& place = places[i / std::size(shapes)];
            const KvType type = kTypes[i % std::size(kTypes)];
            CAPTURE(table->name, kv_type_name(type), shape.num_heads, place.num_cached,
                    place.num_rows, place.window);
            const Sequence whole(shape, type, place.num_cached, place.num_rows, 1);
            const size_t num_rows = place.num_rows < 40 ? 4 : std::size(rows);
            CHECK(count_changed_rows(*table, whole, {.window = place.window},
                                     std::span(rows).first(num_rows)) == 0);
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
    for (const KernelTable* table : tables_by_attention()) {
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
    for (const KernelTable* table : tables_by_attention()) {
        INFO(table->name);
        CHECK(
            (compute(*table, s, {.window = kEndless}, 0.1f, 2) == compute(*table, s, {}, 0.1f, 2)));
    }
}
