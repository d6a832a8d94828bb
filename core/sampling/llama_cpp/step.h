// SPDX-License-Identifier: Apache-2.0
// Step of a llama.cpp chain: one element at work. make_step() hides which file it is in.
#pragma once

#include <memory>

#include "hokku/llama_sampling.h"
#include "sampling/llama_cpp/token_array.h"

namespace hokku::llama_cpp {

/// Threads: one thread at a time. No allocation after construction.
class Step {
  public:
    virtual ~Step() = default;
    /// Needs tokens.size() > 0; leaves at least one.
    virtual void apply(TokenArray& tokens) = 0;
    virtual void accept(TokenId /*token*/) {}
};

struct StepContext {
    uint32_t seed = 0, num_vocab = 0, max_history = 0;
};

// nullptr where the element does nothing.
std::unique_ptr<Step> make_step(const Greedy& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Dist& element, const StepContext& context);
std::unique_ptr<Step> make_step(const TopK& element, const StepContext& context);
std::unique_ptr<Step> make_step(const TopP& element, const StepContext& context);
std::unique_ptr<Step> make_step(const MinP& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Typical& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Temp& element, const StepContext& context);
std::unique_ptr<Step> make_step(const TempExt& element, const StepContext& context);
std::unique_ptr<Step> make_step(const TopNSigma& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Xtc& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Mirostat& element, const StepContext& context);
std::unique_ptr<Step> make_step(const MirostatV2& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Penalties& element, const StepContext& context);
std::unique_ptr<Step> make_step(const Dry& element, const StepContext& context);
std::unique_ptr<Step> make_step(const LogitBias& element, const StepContext& context);

}  // namespace hokku::llama_cpp
