// SPDX-License-Identifier: Apache-2.0
#include "sampling/llama_cpp/options_chain.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hokku::llama_cpp {
namespace {

/// -1 is the whole text.
int32_t window_of(int32_t last_n, uint32_t max_history) {
    constexpr uint32_t kMost = std::numeric_limits<int32_t>::max();
    return last_n < 0 ? static_cast<int32_t>(std::min(max_history, kMost)) : last_n;
}

Element element_of(SamplerStep step, const SamplingOptions& o, uint32_t max_history,
                   std::vector<std::vector<TokenId>>& breakers) {
    switch (step) {
        case SamplerStep::penalties:
            return Penalties{window_of(o.penalty_last_n, max_history),
                             o.repeat_penalty.value_or(1.0f), o.frequency_penalty,
                             o.presence_penalty};
        case SamplerStep::dry:
            return Dry{o.dry_multiplier, o.dry_base, o.dry_allowed_length,
                       window_of(o.dry_last_n, max_history), std::move(breakers)};
        case SamplerStep::top_n_sigma:
            return TopNSigma{o.top_n_sigma};
        case SamplerStep::top_k:
            return TopK{o.top_k};
        case SamplerStep::typical:
            return Typical{o.typical_p, 0};
        case SamplerStep::top_p:
            return TopP{o.top_p, 0};
        case SamplerStep::min_p:
            return MinP{o.min_p, 0};
        case SamplerStep::xtc:
            return Xtc{o.xtc_probability, o.xtc_threshold, 0};
        case SamplerStep::temperature:
            break;
    }
    return TempExt{o.temperature, o.dynatemp_range, o.dynatemp_exponent};
}

}  // namespace

std::vector<Element> chain_of(const SamplingOptions& options, uint32_t max_history,
                              std::vector<std::vector<TokenId>> breakers) {
    std::vector<Element> elements;
    if (!options.logit_bias.empty()) elements.emplace_back(LogitBias{options.logit_bias});
    if (options.mirostat != 0) {
        elements.emplace_back(Temp{options.temperature});
        constexpr int32_t kNumFitted = 100;
        if (options.mirostat == 1) {
            elements.emplace_back(Mirostat{options.mirostat_tau, options.mirostat_eta, kNumFitted});
        } else {
            elements.emplace_back(MirostatV2{options.mirostat_tau, options.mirostat_eta});
        }
        return elements;
    }
    for (const SamplerStep step : options.order)
        elements.push_back(element_of(step, options, max_history, breakers));
    elements.emplace_back(Dist{});
    return elements;
}

}  // namespace hokku::llama_cpp
