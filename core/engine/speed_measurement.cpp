// SPDX-License-Identifier: Apache-2.0
#include "engine/speed_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/try.h"
#include "engine/arriving_weights.h"
#include "engine/prompt.h"
#include "engine/system_memory.h"

namespace hokku {
namespace {

Result<void> run_prompt(ModelSession& session, Sequence& sequence, std::span<const TokenId> tokens,
                        const std::stop_token& stop) {
    const size_t step_tokens = session.loaded.max_step_tokens;
    for (size_t first = 0; first < tokens.size(); first += step_tokens) {
        const auto part = tokens.subspan(first, std::min(step_tokens, tokens.size() - first));
        const bool is_last = first + part.size() == tokens.size();
        HOKKU_CHECK(session.runner.run({.sequence = &sequence,
                                        .tokens = part,
                                        .num_logit_rows = is_last ? 1u : 0u,
                                        .trace = nullptr,
                                        .stop = stop}));
    }
    return {};
}

/// One token of each sequence a step.
Result<void> run_decode(ModelSession& session, std::span<Sequence> sequences,
                        std::span<const TokenId> tokens, uint32_t num_best,
                        const std::stop_token& stop) {
    std::vector<StepSlice> slices(sequences.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
        for (size_t k = 0; k < sequences.size(); ++k)
            slices[k] = {.sequence = &sequences[k],
                         .tokens = tokens.subspan((i + k) % tokens.size(), 1),
                         .num_logit_rows = 1,
                         .num_best = num_best};
        HOKKU_CHECK(session.runner.run_several(slices, stop));
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
    const uint32_t count = request.num_sequences;
    if (count == 0 || count > session.loaded.max_sequences)
        return Error{ErrorCode::bad_argument, fmt::format("{} sequences are to be timed", count),
                     "num_sequences", fmt::format("1 to {}", session.loaded.max_sequences)};
    const size_t total = request.prompt.size() + request.decode.size();
    if (total > info.context_tokens)
        return Error{
            ErrorCode::limit_exceeded,
            fmt::format("there are {} tokens and the context holds {}", total, info.context_tokens),
            "tokens", "fewer tokens or a longer context"};

    if (session.loaded.arriving)  // the disk's time is not the model's
        HOKKU_CHECK(session.loaded.arriving->wait_for_all({.progress = {}, .stop = stop}, 0, 1));
    std::vector<Sequence> sequences;
    sequences.push_back(session.kv.open_empty());
    Timing timing;
    auto start = std::chrono::steady_clock::now();
    HOKKU_CHECK(run_prompt(session, sequences.front(), request.prompt, stop));
    timing.prefill_s = seconds_since(start);
    while (sequences.size() < count) {
        HOKKU_TRY(Sequence another, session.kv.fork(sequences.front()));
        sequences.push_back(std::move(another));
    }
    start = std::chrono::steady_clock::now();
    HOKKU_CHECK(run_decode(session, sequences, request.decode, request.num_best, stop));
    timing.decode_s = seconds_since(start);
    timing.peak_memory_mb = static_cast<double>(peak_process_memory()) / 1e6;
    return timing;
}

}  // namespace hokku
