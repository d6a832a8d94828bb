// SPDX-License-Identifier: Apache-2.0
// Steps with a screened head against the same steps without: the best tokens of every row have the
// same logits to the bit, whatever the model does to them behind the product.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "gguf/gguf_file.h"
#include "model/model.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"
#include "support/synthetic_model.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

constexpr uint32_t kBlocksEach = 4, kMostSequences = 4;

/// One model with two backends that run the same steps.
class TwoBackends {
  public:
    explicit TwoBackends(const SyntheticShape& shape) {
        write_synthetic_model(folder_ / "model.gguf", shape);
        auto file = GgufFile::open(folder_ / "model.gguf");
        REQUIRE(file.ok());
        auto model = Model::load(std::make_shared<const GgufFile>(std::move(*file)));
        if (!model.ok()) FAIL(model.error().message());
        model_ = std::make_unique<Model>(std::move(*model));
        BackendOptions options{
            .num_threads = 2, .num_kv_blocks = kBlocksEach * kMostSequences, .max_step_tokens = 64};
        whole_ = make_cpu_backend(*model_, options).value();
        options.screen_head = true;
        screened_ = make_cpu_backend(*model_, options).value();
        for (uint32_t i = 0; i < kBlocksEach * kMostSequences; ++i) blocks_.push_back(i);
    }

    [[nodiscard]] bool screens() const { return screened_->info().screens_head; }
    [[nodiscard]] uint32_t num_vocab() const { return model_->spec().num_vocab; }

    /// A token of each sequence; false where the screened step has computed all logits.
    bool step(std::span<const int32_t> tokens, uint32_t num_best) {
        std::vector<StepSequence> sequences;
        std::vector<uint32_t> rows;
        for (uint32_t i = 0; i < tokens.size(); ++i) {
            sequences.push_back(
                {i, 1, num_cached_, std::span(blocks_).subspan(i * kBlocksEach, kBlocksEach)});
            rows.push_back(i);
        }
        Step step{.tokens = tokens, .sequences = sequences, .logit_rows = rows};
        const auto whole = whole_->run(step);
        step.num_best = num_best;
        const auto screened = screened_->run(step);
        REQUIRE(whole.ok());
        REQUIRE(screened.ok());
        ++num_cached_;
        bool is_screened = false;
        for (size_t row = 0; row < tokens.size(); ++row)
            is_screened |= check_row(whole->subspan(row * num_vocab(), num_vocab()),
                                     screened->subspan(row * num_vocab(), num_vocab()), num_best);
        return is_screened;
    }
    void forget() { num_cached_ = 0; }

  private:
    bool check_row(std::span<const float> whole, std::span<const float> screened,
                   uint32_t num_best) const {
        constexpr float kForbidden = -std::numeric_limits<float>::infinity();
        std::vector<uint32_t> order(whole.size());
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return whole[a] > whole[b]; });
        const auto is_same = [&](uint32_t id) {
            return std::memcmp(&whole[id], &screened[id], sizeof(float)) == 0;
        };
        for (uint32_t i = 0; i < num_best; ++i) REQUIRE(is_same(order[i]));
        const auto num_wrong = std::count_if(order.begin(), order.end(), [&](uint32_t id) {
            return screened[id] != kForbidden && !is_same(id);
        });
        REQUIRE(num_wrong == 0);
        return std::count(screened.begin(), screened.end(), kForbidden) > 0;
    }

    ScratchFolder folder_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<Backend> whole_, screened_;
    std::vector<uint32_t> blocks_;
    uint32_t num_cached_ = 0;
};

void check_steps(const SyntheticShape& shape) {
    TwoBackends both(shape);
    if (!both.screens()) return report_skip("hardware: no kernels but the plain ones");
    std::mt19937 random(shape.seed);
    uint32_t num_screened = 0;
    for (uint32_t i = 0; i < 170; ++i) {
        if (i % 150 == 0) both.forget();
        std::vector<int32_t> tokens(i < 120 ? 1 : 1 + i % kMostSequences);
        for (int32_t& token : tokens) token = static_cast<int32_t>(random() % both.num_vocab());
        num_screened += both.step(tokens, i % 5 == 0 ? 3 : 1) ? 1u : 0u;
    }
    CHECK(num_screened > 10);
}

}  // namespace

TEST_CASE("Forward: a screened head gives the best logits of the whole one", "[backend][quick]") {
    check_steps({.num_vocab = 5003, .type = TensorType::q8_0});
}

TEST_CASE("Forward: a screened head under a softcap gives the best logits of the whole one",
          "[backend][quick]") {
    check_steps(
        {.architecture = "gemma2", .num_vocab = 4160, .is_tied = true, .type = TensorType::f16});
}

TEST_CASE("Forward: heads that cannot be screened are left alone", "[backend][quick]") {
    // Too few tokens.
    CHECK_FALSE(TwoBackends({.num_vocab = 512, .type = TensorType::q8_0}).screens());
}
