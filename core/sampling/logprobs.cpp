// SPDX-License-Identifier: Apache-2.0
#include "sampling/logprobs.h"

#include "sampling/softmax.h"

namespace hokku {

float LogprobReader::read(std::span<const float> logits, TokenId token, uint32_t num_top,
                          std::vector<std::pair<TokenId, float>>& top) {
    const double normaliser = log_sum_exp(logits);
    const auto logprob = [&](float logit) {
        return static_cast<float>(static_cast<double>(logit) - normaliser);
    };
    top.clear();
    if (num_top > 0) {
        for (const Candidate& candidate : selector_.best(logits, num_top))
            top.emplace_back(candidate.id, logprob(candidate.logit));
    }
    return logprob(logits[static_cast<size_t>(token)]);
}

}  // namespace hokku
