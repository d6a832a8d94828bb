// SPDX-License-Identifier: Apache-2.0
// Sampling to the letter of llama.cpp: its samplers, chained in any order, with its random numbers.
// The same logits, chain and seed give the same tokens. For comparisons and for people who want to
// repeat a text that llama.cpp wrote; the product's own sampling is described in sampling.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "hokku/result.h"
#include "hokku/tokenizer.h"

namespace hokku::llama_cpp {

// One struct for each llama_sampler_init_ function, with its arguments. What makes an element do
// nothing is as there: top_k <= 0, top_p >= 1, min_p <= 0, typical >= 1, temperature 1, ...
struct Greedy {};
struct Dist {};
struct TopK {
    int32_t k = 40;
};
struct TopP {
    float p = 0.95f;
    uint64_t min_keep = 0;
};
struct MinP {
    float p = 0.05f;
    uint64_t min_keep = 0;
};
struct Typical {
    float p = 1.0f;
    uint64_t min_keep = 0;
};
struct Temp {
    float temperature = 0.8f;  ///< 0 or less leaves only the best token.
};
/// The temperature follows the entropy within temperature +- range.
struct TempExt {
    float temperature = 0.8f, range = 0.0f, exponent = 1.0f;
};
struct TopNSigma {
    float n = -1.0f;
};
struct Xtc {
    float probability = 0.0f, threshold = 0.1f;
    uint64_t min_keep = 0;
};
struct Mirostat {
    float tau = 5.0f, eta = 0.1f;
    int32_t m = 100;
};
struct MirostatV2 {
    float tau = 5.0f, eta = 0.1f;
};
struct Penalties {
    int32_t last_n = 64;  ///< 0 and less: off. llama.cpp's programs write the context for -1.
    float repeat = 1.0f, frequency = 0.0f, presence = 0.0f;
};
struct Dry {
    float multiplier = 0.0f, base = 1.75f;
    int32_t allowed_length = 2, last_n = 64;     ///< last_n as in Penalties.
    std::vector<std::vector<TokenId>> breakers;  ///< Token sequences that end a repetition.
};
struct LogitBias {
    std::vector<std::pair<TokenId, float>> bias;
};

using Element = std::variant<Greedy, Dist, TopK, TopP, MinP, Typical, Temp, TempExt, TopNSigma, Xtc,
                             Mirostat, MirostatV2, Penalties, Dry, LogitBias>;

struct ChainOptions {
    std::vector<Element> elements;  ///< In the order in which they run.
    uint32_t seed = 0;              ///< Of every element that draws.
    uint32_t num_vocab = 0;
    uint32_t max_history = 0;  ///< The most tokens that will be accepted.
    /// xtc drops candidates by moving the start of their array. llama_sampler_sample(), and with it
    /// llama.cpp's own programs, look the picked index up from there. A program that calls
    /// llama_sampler_apply() and looks it up in the array it passed gets another token: true here.
    bool looks_up_unmoved = false;
};

/// Threads: one thread at a time. No allocation after creation.
class Chain {
  public:
    /// Errors : bad_argument naming the element: no element that picks a token, a number that is
    ///          not finite, a seed of 4294967295 (which llama.cpp replaces by a random one).
    static Result<Chain> create(const ChainOptions& options);
    ~Chain();
    Chain(Chain&&) noexcept;
    Chain& operator=(Chain&&) noexcept;

    /// Tells the chain of a token of the text, in order. Needs 0 <= token < num_vocab.
    void accept(TokenId token);
    /// Picks a token; does not accept it.
    ///
    /// Shapes : logits [num_vocab] f32.
    /// Errors : numeric when a logit is NaN or +inf or all are -inf; when one becomes NaN in the
    ///          chain; when nothing is left but tokens with a logit or bias of -inf.
    Result<TokenId> sample(std::span<const float> logits);
    /// Candidates left after the last sample().
    [[nodiscard]] uint32_t num_candidates() const;

  private:
    struct State;
    explicit Chain(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace hokku::llama_cpp
