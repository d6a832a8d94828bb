// SPDX-License-Identifier: Apache-2.0
#include "support/model_runner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/try.h"

namespace hokku::testing {

Result<std::unique_ptr<ModelRunner>> ModelRunner::open(const std::filesystem::path& path,
                                                       const Options& options,
                                                       const MakeBackend& make_backend) {
    auto runner = std::make_unique<ModelRunner>();
    runner->options_ = options;
    HOKKU_TRY(GgufFile file, GgufFile::open(path));
    HOKKU_TRY(Model model, Model::load(std::make_shared<const GgufFile>(std::move(file))));
    runner->model_ = std::make_unique<Model>(std::move(model));

    const uint32_t per_sequence = (options.context_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
    const uint32_t num_blocks = per_sequence * options.num_sequences;
    for (uint32_t s = 0; s < options.num_sequences; ++s) {
        std::vector<uint32_t>& table = runner->tables_.emplace_back(per_sequence);
        std::iota(table.rbegin(), table.rend(), s * per_sequence);
    }
    HOKKU_TRY(runner->backend_,
              make_backend(*runner->model_, {.num_threads = options.num_threads,
                                             .num_ranks = options.num_ranks,
                                             .exact = options.exact,
                                             .num_kv_blocks = num_blocks,
                                             .kv_type = options.kv_type,
                                             .max_step_tokens = options.max_step_tokens,
                                             .max_step_logits = options.max_step_logits,
                                             .context_tokens = options.context_tokens}));
    return runner;
}

Result<std::vector<float>> ModelRunner::evaluate(std::span<const int32_t> tokens, uint32_t chunk) {
    chunk = std::min({chunk, options_.max_step_logits, options_.max_step_tokens});
    std::vector<float> all;
    std::vector<uint32_t> rows(chunk);
    std::iota(rows.begin(), rows.end(), 0u);
    for (num_cached_ = 0; num_cached_ < tokens.size();) {
        const auto left = static_cast<uint32_t>(tokens.size()) - num_cached_;
        const uint32_t count = std::min(chunk, left);
        const StepSequence sequence{0, count, num_cached_, blocks(0)};
        const Step step{.tokens = tokens.subspan(num_cached_, count),
                        .sequences = {&sequence, 1},
                        .logit_rows = std::span<const uint32_t>(rows).first(count)};
        HOKKU_TRY(const std::span<const float> logits, backend_->run(step));
        all.insert(all.end(), logits.begin(), logits.end());
        num_cached_ += count;
    }
    return all;
}

Result<std::vector<float>> ModelRunner::append(std::span<const int32_t> tokens, StepTrace* trace) {
    const auto count = static_cast<uint32_t>(tokens.size());
    const StepSequence sequence{0, count, num_cached_, blocks(0)};
    const uint32_t last = count - 1;
    const Step step{
        .tokens = tokens, .sequences = {&sequence, 1}, .logit_rows = {&last, 1}, .trace = trace};
    HOKKU_TRY(const std::span<const float> logits, backend_->run(step));
    num_cached_ += count;
    return std::vector<float>(logits.begin(), logits.end());
}

Result<std::vector<int32_t>> ModelRunner::greedy(std::span<const int32_t> tokens, size_t count) {
    reset();
    std::vector<int32_t> text;
    HOKKU_TRY(std::vector<float> logits, append(tokens));
    while (true) {
        text.push_back(argmax(logits));
        if (text.size() >= count) return text;
        HOKKU_TRY(logits, append({&text.back(), 1}));
    }
}

int32_t argmax(std::span<const float> values) {
    return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace hokku::testing
