// SPDX-License-Identifier: Apache-2.0
#include "engine/step_runner.h"

#include <cassert>

#include "base/try.h"

namespace hokku {

StepRunner::StepRunner(Backend& backend, KvCache& cache, uint32_t max_step_logits,
                       std::function<bool()> has_read_fault)
    : backend_(backend),
      cache_(cache),
      logit_rows_(max_step_logits),
      has_read_fault_(std::move(has_read_fault)),
      owner_(std::this_thread::get_id()) {}

Result<std::span<const float>> StepRunner::run(const StepRequest& request) {
    assert(std::this_thread::get_id() == owner_ && "the backend belongs to one thread");
    assert(request.num_logit_rows <= logit_rows_.size());
    const auto num_rows = static_cast<uint32_t>(request.tokens.size());
    HOKKU_CHECK(cache_.reserve(*request.sequence, num_rows));
    const StepSequence sequence{.first_row = 0,
                                .num_rows = num_rows,
                                .num_cached = request.sequence->length(),
                                .blocks = request.sequence->blocks()};
    const auto rows = std::span(logit_rows_).first(request.num_logit_rows);
    for (uint32_t i = 0; i < request.num_logit_rows; ++i)
        rows[i] = num_rows - request.num_logit_rows + i;
    HOKKU_TRY(const std::span<const float> logits, backend_.run({.tokens = request.tokens,
                                                                 .sequences = {&sequence, 1},
                                                                 .logit_rows = rows,
                                                                 .trace = request.trace,
                                                                 .stop = request.stop}));
    if (has_read_fault_ && has_read_fault_())
        return Error{ErrorCode::io,
                     "a part of the model file can no longer be read: it has shrunk or its medium "
                     "failed",
                     "model file", "the file as it was when it was loaded"};
    cache_.append(*request.sequence, request.tokens);
    return logits;
}

}  // namespace hokku
