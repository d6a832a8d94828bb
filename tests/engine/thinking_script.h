// SPDX-License-Identifier: Apache-2.0
// A script of the fake model that thinks and does not stop by itself.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "engine/fake_model.h"

namespace hokku::testing {

/// Thinks 'a', 'a', .. until the thought is closed, and answers then.
inline Script thinking_on(std::string answer) {
    return [answer = std::move(answer)](std::span<const int32_t> history, std::span<float> logits) {
        const auto turn = std::find(history.rbegin(), history.rend(), fake_token::assistant).base();
        const std::string text(turn, history.end());
        const std::string close = "</think>\n\n";
        const size_t closed = text.rfind(close);
        TokenId next = 'a';
        if (closed != std::string::npos) {
            const size_t said = text.size() - closed - close.size();
            next = said < answer.size() ? answer[said] : fake_token::end;
        }
        std::fill(logits.begin(), logits.end(), 0.0f);
        logits[static_cast<size_t>(next)] = 100.0f;
    };
}

}  // namespace hokku::testing
