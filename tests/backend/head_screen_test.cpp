// SPDX-License-Identifier: Apache-2.0
// HeadScreen against the whole product: the best few of every row are there with the same bits, and
// what is left out is below them. What a product must be is matmul_test.cpp's matter.
#include "backend/cpu/head_screen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backend/available_kernels.h"
#include "backend/quant_blocks.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::cpu;
using hokku::testing::available_tables;
using hokku::testing::BlockKind;
using hokku::testing::GuardedMatrix;

namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

/// Rows of x as models have them: a few values are large, at the same places in all.
std::vector<float> rows_like_a_models(uint32_t num_rows, uint32_t dim, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(size_t{num_rows} * dim);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = normal(random) * (i % dim % 83 == 3 ? 15.0f : 1.0f);
    return x;
}

/// A head with all that a step needs to multiply with it, whole or screened.
class Head {
  public:
    Head(const WeightMatrix& weight, const KernelTable& table, uint32_t num_threads,
         float softcap = 0, uint32_t longest_rest = 0)
        : weight_(weight),
          table_(table),
          team_(num_threads),
          scratch_(*MatmulScratch::create({.num_lanes = team_.size(),
                                           .max_rows = 8,
                                           .max_in = HeadScreen::row_values(weight.cols),
                                           .max_fine_in = HeadScreen::row_values(weight.cols)})),
          barrier_(team_.size()),
          screen_(*HeadScreen::create(
              weight_, table,
              {.num_lanes = team_.size(), .softcap = softcap, .longest_rest = longest_rest})) {}

    HeadScreen& screen() { return *screen_; }

    /// Until it screens.
    void warm_up(uint32_t failing_step = UINT32_MAX) {
        for (uint32_t step = 0; step < 1000; ++step) {
            const auto x = rows_like_a_models(1, weight_.cols, 1000 + step);
            screen_->begin_step(1, 1);
            if (screen_->mode() == HeadScreen::Mode::screen) return;
            run(x, [this](const Lane& lane, const MatmulInput& input, const MatmulTarget&) {
                if (screen_->mode() == HeadScreen::Mode::observe && lane.index == 0)
                    screen_->observe(input);
                if (screen_->mode() == HeadScreen::Mode::copy) screen_->copy_part(lane);
            });
            screen_->end_step(step != failing_step);
        }
        FAIL("it never screens");
    }

    std::vector<float> whole(const std::vector<float>& x) {
        return run(x, [this](const Lane& lane, const MatmulInput& input, const MatmulTarget& out) {
            matmul(lane, table_, scratch_, input, {&out, 1}, Precision::fine);
        });
    }

    std::vector<float> screened(const std::vector<float>& x, uint32_t num_best) {
        const auto num_rows = static_cast<uint32_t>(x.size() / weight_.cols);
        screen_->begin_step(num_best, num_rows);
        REQUIRE(screen_->mode() == HeadScreen::Mode::screen);
        std::vector<float> logits =
            run(x, [this](const Lane& lane, const MatmulInput& input, const MatmulTarget& out) {
                screen_->multiply(lane, scratch_, input, out, [](float*, size_t) {});
            });
        screen_->end_step(true);
        return logits;
    }

  private:
    using Task = std::function<void(const Lane&, const MatmulInput&, const MatmulTarget&)>;
    std::vector<float> run(const std::vector<float>& x, const Task& task) {
        const auto num_rows = static_cast<uint32_t>(x.size() / weight_.cols);
        std::vector<float> logits(size_t{num_rows} * weight_.rows, 777.0f);
        struct Call {
            const Task& task;
            Barrier* barrier;
            MatmulInput input;
            MatmulTarget target;
        } call{task,
               &barrier_,
               {x.data(), weight_.cols, num_rows, num_rows},
               {&weight_, nullptr, logits.data(), weight_.rows}};
        team_.run(
            [](void* context, Lane lane) {
                const Call& c = *static_cast<Call*>(context);
                c.task({lane.index, lane.count, c.barrier}, c.input, c.target);
            },
            &call);
        return logits;
    }

    WeightMatrix weight_;
    const KernelTable& table_;
    ThreadTeam team_;
    MatmulScratch scratch_;
    Barrier barrier_;
    std::unique_ptr<HeadScreen> screen_;
};

bool is_same(float a, float b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// The best `num_best` of each row are as in the whole product; of the others those that are there.
void check_best(const std::vector<float>& whole, const std::vector<float>& screened,
                uint32_t num_vocab, uint32_t num_best) {
    size_t num_wrong = 0, num_missing = 0;
    std::vector<uint32_t> order(num_vocab);
    for (size_t first = 0; first < whole.size(); first += num_vocab) {
        const float* full = whole.data() + first;
        const float* part = screened.data() + first;
        for (uint32_t i = 0; i < num_vocab; ++i)
            num_wrong += part[i] != kForbidden && !is_same(full[i], part[i]) ? 1u : 0u;
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return full[a] > full[b]; });
        for (uint32_t i = 0; i < num_best; ++i)
            num_missing += is_same(full[order[i]], part[order[i]]) ? 0u : 1u;
    }
    CHECK(num_wrong == 0);
    CHECK(num_missing == 0);
}

std::vector<TensorType> heads_to_screen(const KernelTable& table, uint32_t rows, uint32_t cols) {
    std::vector<TensorType> types;
    for (const TensorType type : testing::weight_types()) {
        if (cols % traits_of(type).block_values != 0) continue;
        const GuardedMatrix matrix(type, 1, cols, BlockKind::plain, 1);
        WeightMatrix weight = matrix.weight();
        weight.rows = rows;
        if (HeadScreen::is_useful(weight, table)) types.push_back(type);
    }
    return types;
}

/// Weights in float32, which a test fills itself.
struct FloatHead {
    FloatHead(uint32_t rows, uint32_t cols, uint32_t seed)
        : values(size_t{rows} * cols + kRowOverread / sizeof(float)) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        for (float& value : values) value = normal(random) * 0.05f;
        weight = {.data = reinterpret_cast<const std::byte*>(values.data()),
                  .type = TensorType::f32,
                  .rows = rows,
                  .cols = cols,
                  .row_stride = cols * sizeof(float)};
    }
    float* row(uint32_t r) { return values.data() + size_t{r} * weight.cols; }
    static constexpr size_t kRowOverread = 128;
    std::vector<float> values;
    WeightMatrix weight;
};

/// The fastest table that can screen; null: none here.
const KernelTable* screening_table() {
    for (const KernelTable* table : available_tables())
        if (!heads_to_screen(*table, 4096, 256).empty()) return table;
    return nullptr;
}

}  // namespace

TEST_CASE("HeadScreen: the best tokens have the bits of the whole product", "[backend][quick]") {
    constexpr uint32_t kVocab = 5003, kDim = 512;
    size_t num_screened = 0;
    for (const KernelTable* table : available_tables()) {
        for (const TensorType type : heads_to_screen(*table, kVocab, kDim)) {
            INFO(table->name << ", " << traits_of(type).name);
            const GuardedMatrix matrix(type, kVocab, kDim, BlockKind::plain, 7);
            Head head(matrix.weight(), *table, 2);
            head.warm_up();
            for (const uint32_t num_rows : {1u, 3u, 8u}) {
                for (const uint32_t num_best : {1u, 30u}) {
                    const auto x = rows_like_a_models(num_rows, kDim, num_rows + num_best);
                    check_best(head.whole(x), head.screened(x, num_best), kVocab, num_best);
                }
            }
            CHECK(head.screen().share_computed() < 0.7);
            ++num_screened;
        }
    }
    if (available_tables().size() > 1) CHECK(num_screened > 0);
}

TEST_CASE("HeadScreen: any number of threads and tokens", "[backend][quick][threads]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    for (const uint32_t num_threads : {1u, 3u, 5u}) {
        for (const uint32_t num_vocab : {4096u, 4097u, 6007u}) {
            INFO(num_threads << " threads, " << num_vocab << " tokens");
            FloatHead floats(num_vocab, 96, num_vocab);
            Head head(floats.weight, *table, num_threads);
            head.warm_up();
            for (uint32_t seed = 0; seed < 8; ++seed) {
                const auto x = rows_like_a_models(1 + seed % 4, 96, seed);
                check_best(head.whole(x), head.screened(x, 1 + seed * 3), num_vocab, 1 + seed * 3);
            }
        }
    }
}

TEST_CASE("HeadScreen: of equal tokens all are there", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    constexpr uint32_t kVocab = 4500, kDim = 128;
    FloatHead floats(kVocab, kDim, 3);
    const auto x = rows_like_a_models(1, kDim, 5);
    // Far the best, and the same: rows that lie along x.
    for (const uint32_t token : {17u, 900u, 901u, 4499u})
        for (uint32_t i = 0; i < kDim; ++i) floats.row(token)[i] = 0.1f * x[i];
    Head head(floats.weight, *table, 2);
    head.warm_up();
    const std::vector<float> logits = head.screened(x, 1);
    for (const uint32_t token : {17u, 900u, 901u, 4499u}) CHECK(logits[token] == logits[17]);
    CHECK(std::count(logits.begin(), logits.end(), kForbidden) > kVocab / 2);
    check_best(head.whole(x), logits, kVocab, 4);
}

TEST_CASE("HeadScreen: weights of any size", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    constexpr uint32_t kVocab = 4200, kDim = 128;
    FloatHead floats(kVocab, kDim, 4);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (uint32_t i = 0; i < kDim; ++i) {
        floats.row(5)[i] = 0;
        floats.row(6)[i] *= 1e-38f;
        floats.row(7)[i] *= 1e6f;
        floats.row(8)[i] = i == 3 ? 1e30f : 0.0f;
    }
    floats.row(9)[1] = kInfinity;
    floats.row(10)[64] = std::nanf("");
    Head head(floats.weight, *table, 2);
    head.warm_up();
    for (uint32_t seed = 0; seed < 4; ++seed) {
        const auto x = rows_like_a_models(1, kDim, seed);
        const std::vector<float> whole = head.whole(x), screened = head.screened(x, 20);
        // What is no number is not hidden.
        CHECK(!std::isfinite(whole[9]));
        CHECK(std::isnan(screened[10]));
        for (uint32_t token = 0; token < kVocab; ++token)
            if (screened[token] != kForbidden && token != 10)
                CHECK(is_same(whole[token], screened[token]));
        for (const uint32_t token : {7u, 8u})
            if (whole[token] > 0) CHECK(is_same(whole[token], screened[token]));
    }
}

TEST_CASE("HeadScreen: where nothing can be said all logits are computed", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    constexpr uint32_t kVocab = 4200, kDim = 128;
    const FloatHead floats(kVocab, kDim, 4);
    Head head(floats.weight, *table, 2);
    head.warm_up();
    const auto has_all = [&](const std::vector<float>& x) {
        const std::vector<float> whole = head.whole(x), screened = head.screened(x, 1);
        return std::equal(whole.begin(), whole.end(), screened.begin(), is_same);
    };
    std::vector<float> x = rows_like_a_models(1, kDim, 1);
    CHECK_FALSE(has_all(x));
    CHECK(has_all(std::vector<float>(kDim)));  // All are equal.
    x[5] = std::numeric_limits<float>::infinity();
    CHECK(has_all(x));
    x[5] = std::nanf("");
    CHECK(has_all(x));
    x[5] = 1e35f;
    CHECK(has_all(x));
}

TEST_CASE("HeadScreen: a softcap that makes logits equal hides none", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    constexpr uint32_t kVocab = 4200, kDim = 128;
    FloatHead floats(kVocab, kDim, 4);
    const auto x = rows_like_a_models(1, kDim, 2);
    for (uint32_t i = 0; i < kDim; ++i) {
        floats.row(40)[i] = 0.1f * x[i];  // Both far above the cap.
        floats.row(3000)[i] = 0.2f * x[i];
    }
    Head capped(floats.weight, *table, 2, 5.0f), plain(floats.weight, *table, 2);
    capped.warm_up();
    plain.warm_up();
    CHECK(capped.screened(x, 1)[40] != kForbidden);
    CHECK(plain.screened(x, 1)[40] == kForbidden);
}

TEST_CASE("HeadScreen: logits that a softcap makes equal from below hide none",
          "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    constexpr uint32_t kVocab = 4200, kDim = 128;
    FloatHead floats(kVocab, kDim, 4);
    const auto x = rows_like_a_models(1, kDim, 2);
    for (uint32_t token = 0; token < kVocab; ++token)  // All far below minus the cap.
        for (uint32_t i = 0; i < kDim; ++i)
            floats.row(token)[i] = -(0.1f + 0.001f * static_cast<float>(token % 97)) * x[i];
    Head capped(floats.weight, *table, 2, 1.0f), plain(floats.weight, *table, 2);
    capped.warm_up();
    plain.warm_up();
    const auto num_hidden = [&](Head& head) {
        const std::vector<float> logits = head.screened(x, 1);
        return std::count(logits.begin(), logits.end(), kForbidden);
    };
    CHECK(num_hidden(capped) == 0);
    CHECK(num_hidden(plain) > 0);
}

TEST_CASE("HeadScreen: a step that fails leaves it sound", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    const FloatHead floats(4200, 128, 4);
    for (const uint32_t failing : {0u, 7u, 14u, 15u, 16u, 17u, 40u, 79u, 80u}) {
        CAPTURE(failing);
        Head head(floats.weight, *table, 2);
        head.warm_up(failing);
        for (uint32_t seed = 0; seed < 4; ++seed) {
            const auto x = rows_like_a_models(1, 128, seed);
            const std::vector<float> logits = head.screened(x, 1);
            check_best(head.whole(x), logits, 4200, 1);
            CHECK(std::count(logits.begin(), logits.end(), kForbidden) > 2100);
        }
    }
}

TEST_CASE("HeadScreen: an error that is infinite is not lost where x vanishes",
          "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    FloatHead floats(4200, 128, 4);
    floats.row(10)[64] = std::nanf("");
    Head head(floats.weight, *table, 2);
    head.warm_up();
    CHECK(std::isnan(head.screened(std::vector<float>(128), 1)[10]));
}

TEST_CASE("HeadScreen: a rest ends when fewer tokens are wanted", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    const FloatHead floats(4200, 128, 4);
    Head head(floats.weight, *table, 1, 0, 1000);
    head.warm_up();
    const std::vector<float> zeros(128);
    for (uint32_t step = 0; step < 100; ++step) {
        head.screen().begin_step(20, 1);
        if (head.screen().mode() == HeadScreen::Mode::off) break;
        head.screened(zeros, 20);
    }
    CHECK(head.screen().mode() == HeadScreen::Mode::off);
    head.screen().begin_step(1, 1);
    CHECK(head.screen().mode() == HeadScreen::Mode::screen);
}

TEST_CASE("HeadScreen: rests when most tokens stay, and tries again", "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    constexpr uint32_t kVocab = 4200, kDim = 128;
    const FloatHead floats(kVocab, kDim, 4);
    Head head(floats.weight, *table, 1, 0, 200);
    head.warm_up();
    const std::vector<float> zeros(kDim);
    uint32_t num_screened = 0;
    while (num_screened < 1000) {
        head.screen().begin_step(1, 1);
        if (head.screen().mode() == HeadScreen::Mode::off) break;
        head.screened(zeros, 1);
        ++num_screened;
    }
    CHECK(num_screened < 100);
    uint32_t num_resting = 0;
    while (num_resting < 10000 && head.screen().mode() == HeadScreen::Mode::off) {
        head.screen().end_step(true);
        head.screen().begin_step(1, 1);
        ++num_resting;
    }
    CHECK(num_resting > num_screened);
    CHECK(head.screen().mode() == HeadScreen::Mode::screen);
}

TEST_CASE("HeadScreen: steps that want all logits or too many rows are left alone",
          "[backend][quick]") {
    const KernelTable* table = screening_table();
    if (table == nullptr) return testing::report_skip("hardware: no kernels but the plain ones");
    const FloatHead floats(4200, 128, 4);
    Head head(floats.weight, *table, 1);
    head.warm_up();
    const auto mode = [&](uint32_t num_best, uint32_t num_rows) {
        head.screen().begin_step(num_best, num_rows);
        return head.screen().mode();
    };
    CHECK(mode(1, 1) == HeadScreen::Mode::screen);
    CHECK(mode(1, 8) == HeadScreen::Mode::screen);
    CHECK(mode(0, 1) == HeadScreen::Mode::off);
    CHECK(mode(1, 0) == HeadScreen::Mode::off);
    CHECK(mode(1, 9) == HeadScreen::Mode::off);
    CHECK(mode(4200, 1) == HeadScreen::Mode::off);
    head.screen().begin_step(1, 1);
    head.screen().end_step(false);
    CHECK(head.screen().mode() == HeadScreen::Mode::off);
}
