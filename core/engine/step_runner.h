// SPDX-License-Identifier: Apache-2.0
// StepRunner: the one place where tokens go into the backend. It reserves KV, runs the step and
// notes what is stored, so that positions and cache lengths cannot drift apart.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "hokku/result.h"
#include "kv/kv_cache.h"

namespace hokku {

struct StepRequest {
    Sequence* sequence = nullptr;
    std::span<const int32_t> tokens;  ///< They follow those stored; 1 to max_step_tokens.
    uint32_t num_logit_rows = 0;      ///< Logits of this many last tokens are wanted.
    StepTrace* trace = nullptr;
    std::stop_token stop;
};

/// One sequence's share of a step of several.
struct StepSlice {
    Sequence* sequence = nullptr;
    std::span<const int32_t> tokens;  ///< They follow those stored; one or more.
    uint32_t num_logit_rows = 0;      ///< Logits of this many last tokens are wanted.
    /// So many last tokens are guesses: not noted as stored. Whoever keeps them appends them to the
    /// sequence, for which room is reserved; what is behind that will be written over.
    uint32_t num_guessed = 0;
    uint32_t num_best = 0;  ///< Step::num_best of its rows.
};

/// What a step may have, over all its sequences.
struct StepLimits {
    uint32_t max_tokens = 0;
    uint32_t max_logits = 0;
    uint32_t max_sequences = 1;
};

/// Threads: the thread that made it (asserted). No allocation after construction.
class StepRunner {
  public:
    /// The cache must outlive it, and the backend its use.
    StepRunner(Backend& backend, KvCache& cache, const StepLimits& limits,
               std::function<bool()> has_read_fault);

    /// Another backend with the same KV blocks, which hold nothing that is cached.
    void use(Backend& backend) { backend_ = &backend; }

    /// Logits [num_logit_rows, num_vocab], valid until the next call. After an error nothing of
    /// the step is stored.
    /// Errors : those of the backend; limit_exceeded; io when the model's file can no longer be
    ///          read.
    Result<std::span<const float>> run(const StepRequest& request);
    /// The same for several sequences, in the order of the backend (Step): logits of the first
    /// slice's rows, then of the next one's.
    Result<std::span<const float>> run_several(std::span<const StepSlice> slices,
                                               const std::stop_token& stop);

  private:
    Result<std::span<const float>> run_slices(std::span<const StepSlice> slices,
                                              std::span<const int32_t> tokens, StepTrace* trace,
                                              const std::stop_token& stop);

    Backend* backend_;
    KvCache& cache_;
    // Of the step in work, sized once.
    std::vector<int32_t> tokens_;
    std::vector<StepSequence> sequences_;
    std::vector<uint32_t> logit_rows_;
    std::function<bool()> has_read_fault_;
    std::thread::id owner_;
};

}  // namespace hokku
