// SPDX-License-Identifier: Apache-2.0
#include "backend/check_step.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/try.h"
#include "model/model_spec.h"

namespace hokku {

namespace {

Error bad_step(std::string what, std::string expected) {
    return {ErrorCode::bad_argument, std::move(what), "model step", std::move(expected)};
}

Result<void> check_sequences(const Step& step, const StepLimits& limits) {
    const ModelSpec& spec = *limits.spec;
    uint64_t next_row = 0;
    for (const StepSequence& sequence : step.sequences) {
        if (sequence.first_row != next_row || sequence.num_rows == 0)
            return bad_step(fmt::format("a sequence has {} rows from row {}", sequence.num_rows,
                                        sequence.first_row),
                            fmt::format("at least one row, from row {}", next_row));
        next_row += sequence.num_rows;
        const uint64_t length = uint64_t{sequence.num_cached} + sequence.num_rows;
        if (sequence.blocks.size() * kKvBlockTokens < length)
            return bad_step(
                fmt::format("{} KV blocks are given for {} tokens", sequence.blocks.size(), length),
                fmt::format("blocks of {} tokens for all", kKvBlockTokens));
        for (const uint32_t block : sequence.blocks)
            if (block >= limits.num_kv_blocks)
                return bad_step(fmt::format("the KV block is {}", block),
                                fmt::format("below {}", limits.num_kv_blocks));
        if (spec.num_learned_positions > 0 && length > spec.num_learned_positions)
            return Error{
                ErrorCode::limit_exceeded, fmt::format("the sequence has {} tokens", length),
                "model step",
                fmt::format("at most {}, the model's positions", spec.num_learned_positions)};
    }
    if (next_row != step.tokens.size())
        return bad_step(fmt::format("the sequences have {} rows", next_row),
                        fmt::format("{}, one for each token", step.tokens.size()));
    return {};
}

}  // namespace

Result<void> check_step(const Step& step, const StepLimits& limits) {
    if (step.tokens.empty() || step.tokens.size() > limits.max_step_tokens)
        return bad_step(fmt::format("the step has {} tokens", step.tokens.size()),
                        fmt::format("1 to {}", limits.max_step_tokens));
    if (step.logit_rows.size() > limits.max_step_logits)
        return bad_step(fmt::format("logits of {} rows are asked for", step.logit_rows.size()),
                        fmt::format("at most {}", limits.max_step_logits));
    const ModelSpec& spec = *limits.spec;
    for (const int32_t token : step.tokens)
        if (spec.part.is_first && (token < 0 || static_cast<uint32_t>(token) >= spec.num_vocab))
            return bad_step(fmt::format("the token id is {}", token),
                            fmt::format("0 to {}", spec.num_vocab - 1));
    const size_t wanted = spec.part.is_first ? 0 : step.tokens.size() * spec.dim;
    if (step.hidden.size() != wanted)
        return bad_step(fmt::format("{} values of layers before are given", step.hidden.size()),
                        std::to_string(wanted));
    uint64_t next = 0;
    for (const uint32_t row : step.logit_rows) {
        if (row < next || row >= step.tokens.size())
            return bad_step(fmt::format("logits of row {} are asked for", row),
                            fmt::format("ascending rows below {}", step.tokens.size()));
        next = uint64_t{row} + 1;
    }
    return check_sequences(step, limits);
}

}  // namespace hokku
