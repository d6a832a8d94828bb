// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <cmath>
#include <optional>

#include "base/try.h"
#include "sampling/check_logits.h"
#include "sampling/dry_breakers.h"
#include "sampling/llama_cpp/options_chain.h"

namespace hokku {
namespace {

/// Source : generation_config.json of Qwen2.5-Coder-0.5B-Instruct. Measured with it, 120 seeds of
///          a haiku at temperature 0.7: a repeated line in 6 texts at 1.0, in 1 at 1.05, in none
///          at 1.1.
constexpr float kDefaultRepeatPenalty = 1.1f;

float repeat_penalty(const SamplingOptions& options) {
    return options.repeat_penalty.value_or(options.temperature > 0 ? kDefaultRepeatPenalty : 1.0f);
}

bool has_dry(const SamplingOptions& options) {
    return options.dry_multiplier > 0.0f && options.dry_last_n != 0;
}

/// What the steps are made from.
struct StepPlan {
    const SamplingOptions& options;
    uint32_t num_vocab, max_history;
    uint64_t seed;
    std::span<const std::vector<TokenId>> breakers;

    [[nodiscard]] uint32_t window(int32_t last_n) const {
        return last_n < 0 ? max_history : static_cast<uint32_t>(last_n);
    }
};

std::unique_ptr<ChainStep> make_penalty_step(const StepPlan& plan) {
    const SamplingOptions& o = plan.options;
    const PenaltyOptions penalties{
        .repeat = repeat_penalty(o),
        .frequency = o.frequency_penalty,
        .presence = o.presence_penalty,
        .num_vocab = plan.num_vocab,
        .window = std::min(plan.window(o.penalty_last_n), std::max(plan.max_history, 1u))};
    const bool is_off =
        penalties.window == 0 ||
        (penalties.repeat == 1.0f && penalties.frequency == 0.0f && penalties.presence == 0.0f);
    return is_off ? nullptr : make_penalties(penalties);
}

std::unique_ptr<ChainStep> make_temperature_step(const SamplingOptions& o) {
    if (o.dynatemp_range > 0.0f)
        return make_dynamic_temperature(std::max(0.0f, o.temperature - o.dynatemp_range),
                                        o.temperature + o.dynatemp_range, o.dynatemp_exponent);
    return o.temperature == 1.0f ? nullptr : make_temperature(o.temperature);
}

/// nullptr where the step does nothing.
std::unique_ptr<ChainStep> make_step(SamplerStep step, const StepPlan& plan) {
    const SamplingOptions& o = plan.options;
    switch (step) {
        case SamplerStep::penalties:
            return make_penalty_step(plan);
        case SamplerStep::dry:
            if (!has_dry(o)) return nullptr;
            return make_dry({.multiplier = o.dry_multiplier,
                             .base = o.dry_base,
                             .allowed_length = o.dry_allowed_length,
                             .window = std::min(plan.window(o.dry_last_n), plan.max_history),
                             .num_vocab = plan.num_vocab},
                            plan.breakers);
        case SamplerStep::top_n_sigma:
            return o.top_n_sigma > 0.0f ? make_top_n_sigma(o.top_n_sigma) : nullptr;
        case SamplerStep::top_k:
            return o.top_k > 0 ? make_top_k(static_cast<uint32_t>(o.top_k)) : nullptr;
        case SamplerStep::typical:
            return o.typical_p < 1.0f ? make_typical(o.typical_p, plan.num_vocab) : nullptr;
        case SamplerStep::top_p:
            return o.top_p < 1.0f ? make_top_p(o.top_p) : nullptr;
        case SamplerStep::min_p:
            return o.min_p > 0.0f ? make_min_p(o.min_p) : nullptr;
        case SamplerStep::xtc:
            if (o.xtc_probability <= 0.0f || o.xtc_threshold > 0.5f) return nullptr;
            return make_xtc({o.xtc_probability, o.xtc_threshold, plan.seed});
        case SamplerStep::temperature:
            return make_temperature_step(o);
    }
    return nullptr;
}

/// Drops no tokens: what runs before the best one is taken, and before Mirostat.
bool only_changes_logits(SamplerStep step) {
    return step == SamplerStep::penalties || step == SamplerStep::dry;
}

/// As it needs no more logits than the best ones: none of its numbers raises one.
bool only_lowers_logits(const SamplingOptions& o) {
    return repeat_penalty(o) >= 1.0f && o.frequency_penalty >= 0.0f && o.presence_penalty >= 0.0f &&
           o.dry_multiplier == 0.0f;
}

/// How many of the best logits decide, 0: all. Penalties lower those of a window of tokens, so that
/// as many more may become the best.
uint32_t num_deciding(const StepPlan& plan, bool has_penalties, std::optional<SamplerStep> next) {
    const SamplingOptions& o = plan.options;
    if (!o.logit_bias.empty() || (has_penalties && !only_lowers_logits(o))) return 0;
    const uint64_t lowered = has_penalties ? plan.window(o.penalty_last_n) : 0;
    uint64_t best = 0;
    if (o.temperature == 0.0f) {
        best = 1;
    } else if (next == SamplerStep::top_k) {
        best = static_cast<uint64_t>(o.top_k);
    }
    return best == 0 ? 0
                     : static_cast<uint32_t>(std::min<uint64_t>(best + lowered, plan.num_vocab));
}

struct Chain {
    std::vector<std::unique_ptr<ChainStep>> steps;
    uint32_t num_best = 0;  ///< Sampler::num_best()
};

Chain make_chain(const StepPlan& plan) {
    const SamplingOptions& o = plan.options;
    const bool is_greedy = o.temperature == 0.0f, is_mirostat = o.mirostat != 0;
    Chain out;
    std::vector<std::unique_ptr<ChainStep>>& chain = out.steps;
    bool has_penalties = false;
    std::optional<SamplerStep> next;  // The first that drops tokens or changes them otherwise.
    for (const SamplerStep step : o.order) {
        const bool runs = only_changes_logits(step) || (!is_greedy && !is_mirostat) ||
                          (!is_greedy && step == SamplerStep::temperature);
        if (!runs) continue;
        auto made = make_step(step, plan);
        if (!made) continue;
        has_penalties |= only_changes_logits(step);
        if (!only_changes_logits(step) && !next) next = step;
        chain.push_back(std::move(made));
    }
    out.num_best = num_deciding(plan, has_penalties, is_mirostat ? std::nullopt : next);
    if (!is_greedy && o.mirostat == 1)
        chain.push_back(make_mirostat(o.mirostat_tau, o.mirostat_eta, plan.num_vocab));
    if (!is_greedy && o.mirostat == 2)
        chain.push_back(make_mirostat_v2(o.mirostat_tau, o.mirostat_eta));
    return out;
}

Result<std::vector<std::vector<TokenId>>> breakers_of(const SamplingOptions& options,
                                                      const Tokenizer* tokenizer) {
    if (!has_dry(options) || options.dry_breakers.empty())
        return std::vector<std::vector<TokenId>>();
    if (tokenizer == nullptr)
        return Error{ErrorCode::bad_argument, "breakers are given without a vocabulary",
                     "dry_breakers", "a tokenizer, or no breakers"};
    return find_dry_breakers(options.dry_breakers, *tokenizer);
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options, uint32_t num_vocab, uint64_t seed)
    : candidates_(options.mode == SamplerMode::hokku ? num_vocab : 0),
      logit_bias_(options.logit_bias),
      is_greedy_(options.temperature == 0.0f),
      seed_(seed),
      random_(seed) {}

Result<Sampler> Sampler::create(const SamplingOptions& options, uint32_t num_vocab,
                                uint32_t max_history, const Tokenizer* tokenizer) {
    HOKKU_CHECK(validate_sampling(options, num_vocab));
    HOKKU_TRY(auto breakers, breakers_of(options, tokenizer));
    uint64_t seed = options.seed ? *options.seed : draw_seed();
    if (options.mode == SamplerMode::hokku) {
        Sampler sampler(options, num_vocab, seed);
        Chain chain = make_chain({options, num_vocab, max_history, seed, breakers});
        sampler.chain_ = std::move(chain.steps);
        sampler.num_best_ = chain.num_best;
        return sampler;
    }
    // Of all numbers with 32 bits this one does not repeat a text there.
    seed = std::min<uint64_t>(seed, 0xfffffffe);
    Sampler sampler(options, num_vocab, seed);
    HOKKU_TRY(sampler.llama_,
              llama_cpp::Chain::create(
                  {.elements = llama_cpp::chain_of(options, max_history, std::move(breakers)),
                   .seed = static_cast<uint32_t>(seed),
                   .num_vocab = num_vocab,
                   .max_history = max_history}));
    return sampler;
}

void Sampler::accept(TokenId token) {
    if (llama_) return llama_->accept(token);
    for (const auto& step : chain_) step->accept(token);
}

Result<TokenId> Sampler::sample(std::span<const float> logits) {
    if (llama_) return llama_->sample(logits);
    switch (candidates_.reset(logits)) {
        case LogitState::usable:
            break;
        case LogitState::not_finite:
            return infinite_logits();
        case LogitState::all_forbidden:
            return forbidden_logits();
    }
    if (!logit_bias_.empty()) {
        const std::span<float> biased = candidates_.dense();
        for (const auto& [id, bias] : logit_bias_) biased[static_cast<size_t>(id)] += bias;
    }
    if (!logit_bias_.empty() && !std::isfinite(candidates_.max_logit())) {
        return Error{ErrorCode::bad_argument, "logit_bias leaves no token that could be drawn",
                     "logit_bias", "at least one token with a finite logit"};
    }
    for (const auto& step : chain_) step->apply(candidates_);
    if (is_greedy_) return candidates_.best();
    const Candidates::Drawn drawn = candidates_.draw(random_.next_unit());
    for (const auto& step : chain_) step->note_drawn(drawn.probability);
    return drawn.token;
}

}  // namespace hokku
