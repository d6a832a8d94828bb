// SPDX-License-Identifier: Apache-2.0
#include "engine/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/try.h"
#include "engine/prompt.h"

namespace hokku {
namespace {

Result<void> evaluate_steps(ModelSession& session, const EvaluateRequest& request,
                            std::stop_token stop) {
    const LoadedModel& loaded = session.loaded;
    const auto total = static_cast<uint32_t>(request.tokens.size());
    uint32_t chunk = loaded.max_step_tokens;
    if (request.chunk_tokens > 0) chunk = std::min(chunk, request.chunk_tokens);
    if (request.all_positions) chunk = std::min(chunk, loaded.max_step_logits);
    StepTrace trace{.stages = request.stages, .on_values = request.on_trace};
    const bool wants_trace = (request.hidden || request.stages) && request.on_trace;

    Sequence sequence = session.kv.open_empty();
    while (sequence.length() < total) {
        const uint32_t start = sequence.length();
        const uint32_t count = std::min(chunk, total - start);
        const bool is_last = start + count == total;
        const uint32_t num_rows = request.all_positions ? count : (is_last ? 1u : 0u);
        HOKKU_TRY(const std::span<const float> logits,
                  session.runner.run({.sequence = &sequence,
                                      .tokens = std::span(request.tokens).subspan(start, count),
                                      .num_logit_rows = num_rows,
                                      .trace = wants_trace && is_last ? &trace : nullptr,
                                      .stop = stop}));
        if (!request.on_logits) continue;
        const size_t num_vocab = loaded.info.num_vocab;
        for (uint32_t row = 0; row < num_rows; ++row)
            request.on_logits(start + count - num_rows + row,
                              logits.subspan(row * num_vocab, num_vocab));
    }
    return {};
}

}  // namespace

Result<void> run_evaluation(ModelSession& session, const EvaluateRequest& request,
                            std::stop_token stop) {
    const ModelInfo& info = session.loaded.info;
    if (request.tokens.empty())
        return Error{ErrorCode::bad_argument, "there are no tokens to evaluate", "tokens",
                     "at least one token"};
    HOKKU_CHECK(validate_tokens(request.tokens, info.num_vocab));
    if (request.tokens.size() > info.context_tokens)
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("there are {} tokens and the context holds {}",
                                 request.tokens.size(), info.context_tokens),
                     "tokens", "fewer tokens or a longer context"};
    try {
        return evaluate_steps(session, request, std::move(stop));
    } catch (const std::exception& exception) {
        return Error{ErrorCode::bad_argument,
                     std::string("a callback threw an exception: ") + exception.what(), "events",
                     "callbacks that do not throw"};
    } catch (...) {
        return Error{ErrorCode::bad_argument, "a callback threw an exception", "events",
                     "callbacks that do not throw"};
    }
}

}  // namespace hokku
