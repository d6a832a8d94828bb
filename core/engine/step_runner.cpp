// SPDX-License-Identifier: Apache-2.0
#include "engine/step_runner.h"

#include <algorithm>
#include <cassert>

#include "base/try.h"

namespace hokku {

StepRunner::StepRunner(Backend& backend, KvCache& cache, const StepLimits& limits,
                       std::function<bool()> has_read_fault)
    : backend_(&backend),
      cache_(cache),
      tokens_(limits.max_tokens),
      sequences_(limits.max_sequences),
      logit_rows_(limits.max_logits),
      has_read_fault_(std::move(has_read_fault)),
      owner_(std::this_thread::get_id()) {}

Result<std::span<const float>> StepRunner::run(const StepRequest& request) {
    const StepSlice slice{request.sequence, request.tokens, request.num_logit_rows};
    return run_slices({&slice, 1}, request.tokens, request.trace, request.stop);
}

Result<std::span<const float>> StepRunner::run_several(std::span<const StepSlice> slices,
                                                       const std::stop_token& stop) {
    size_t num_rows = 0;
    for (const StepSlice& slice : slices) {
        assert(num_rows + slice.tokens.size() <= tokens_.size());
        std::copy(slice.tokens.begin(), slice.tokens.end(),
                  tokens_.begin() + static_cast<ptrdiff_t>(num_rows));
        num_rows += slice.tokens.size();
    }
    return run_slices(slices, std::span(tokens_).first(num_rows), nullptr, stop);
}

Result<std::span<const float>> StepRunner::run_slices(std::span<const StepSlice> slices,
                                                      std::span<const int32_t> tokens,
                                                      StepTrace* trace,
                                                      const std::stop_token& stop) {
    assert(std::this_thread::get_id() == owner_ && "the backend belongs to one thread");
    assert(slices.size() <= sequences_.size());
    uint32_t num_rows = 0, num_logits = 0, num_best = 0;
    bool needs_all = false;
    for (size_t i = 0; i < slices.size(); ++i) {
        const StepSlice& slice = slices[i];
        const auto count = static_cast<uint32_t>(slice.tokens.size());
        HOKKU_CHECK(cache_.reserve(*slice.sequence, count));
        sequences_[i] = {.first_row = num_rows,
                         .num_rows = count,
                         .num_cached = slice.sequence->length(),
                         .blocks = slice.sequence->blocks()};
        num_rows += count;
        assert(num_logits + slice.num_logit_rows <= logit_rows_.size());
        for (uint32_t row = num_rows - slice.num_logit_rows; row < num_rows; ++row)
            logit_rows_[num_logits++] = row;
        if (slice.num_logit_rows == 0) continue;
        needs_all |= slice.num_best == 0;
        num_best = std::max(num_best, slice.num_best);
    }
    HOKKU_TRY(const std::span<const float> logits,
              backend_->run({.tokens = tokens,
                             .sequences = std::span(sequences_).first(slices.size()),
                             .logit_rows = std::span(logit_rows_).first(num_logits),
                             .num_best = needs_all ? 0 : num_best,
                             .trace = trace,
                             .stop = stop}));
    if (has_read_fault_ && has_read_fault_())
        return Error{ErrorCode::io,
                     "a part of the model file can no longer be read: it has shrunk or its medium "
                     "failed",
                     "model file", "the file as it was when it was loaded"};
    for (const StepSlice& slice : slices)
        cache_.append(*slice.sequence, slice.tokens.first(slice.tokens.size() - slice.num_guessed));
    return logits;
}

}  // namespace hokku
