// SPDX-License-Identifier: Apache-2.0
#include "engine/speed_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/try.h"
#include "engine/prompt.h"
#include "engine/system_memory.h"

namespace hokku {
namespace {

/// Evaluates tokens after those of the sequence, with the logits of the last of each step.
Result<void> run_tokens(ModelSession& session, Sequence& sequence, std::span<const TokenId> tokens,
                        uint32_t step_tokens, const std::stop_token& stop) {
    for (size_t first = 0; first < tokens.size(); first += step_tokens) {
        const auto part =
            tokens.subspan(first, std::min<size_t>(step_tokens, tokens.size() - first));
        const bool is_last = first + part.size() == tokens.size();
        HOKKU_CHECK(session.runner.run({.sequence = &sequence,
                                        .tokens = part,
                                        .num_logit_rows = is_last || step_tokens == 1 ? 1u : 0u,
                                        .trace = nullptr,
                                        .stop = stop}));
    }
    return {};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<Timing> run_speed_measurement(ModelSession& session, const TimingRequest& request,
                                     std::stop_token stop) {
    const ModelInfo& info = session.loaded.info;
    if (request.prompt.empty())
        return Error{ErrorCode::bad_argument, "there are no tokens to evaluate", "prompt",
                     "at least one token"};
    HOKKU_CHECK(validate_tokens(request.prompt, info.num_vocab));
    HOKKU_CHECK(validate_tokens(request.decode, info.num_vocab));
    const size_t total = request.prompt.size() + request.decode.size();
    if (total > info.context_tokens)
        return Error{
            ErrorCode::limit_exceeded,
            fmt::format("there are {} tokens and the context holds {}", total, info.context_tokens),
            "tokens", "fewer tokens or a longer context"};

    Sequence sequence = session.kv.open_empty();
    Timing timing;
    auto start = std::chrono::steady_clock::now();
    HOKKU_CHECK(
        run_tokens(session, sequence, request.prompt, session.loaded.max_step_tokens, stop));
    timing.prefill_s = seconds_since(start);
    start = std::chrono::steady_clock::now();
    HOKKU_CHECK(run_tokens(session, sequence, request.decode, 1, stop));
    timing.decode_s = seconds_since(start);
    timing.peak_memory_mb = static_cast<double>(peak_process_memory()) / 1e6;
    return timing;
}

}  // namespace hokku
