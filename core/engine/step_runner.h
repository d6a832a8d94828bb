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

/// Threads: the thread that made it (asserted). No allocation after construction.
class StepRunner {
  public:
    /// The backend and the cache must outlive it.
    StepRunner(Backend& backend, KvCache& cache, uint32_t max_step_logits,
               std::function<bool()> has_read_fault);

    /// Logits [num_logit_rows, num_vocab], valid until the next call. After an error nothing of
    /// the step is stored.
    /// Errors : those of the backend; limit_exceeded; io when the model's file can no longer be
    ///          read.
    Result<std::span<const float>> run(const StepRequest& request);

  private:
    Backend& backend_;
    KvCache& cache_;
    std::vector<uint32_t> logit_rows_;
    std::function<bool()> has_read_fault_;
    std::thread::id owner_;
};

}  // namespace hokku
