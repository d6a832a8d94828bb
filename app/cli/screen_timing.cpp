// SPDX-License-Identifier: Apache-2.0
#include "screen_timing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "draft_timing.h"

namespace hokku::cli {

namespace {

constexpr uint32_t kStartTokens = 128;  ///< After which the copy of the head is surely there.
constexpr uint32_t kTopK = 40;          ///< As chats have it.

/// Drawn, so that it does not go round in circles.
Result<std::vector<TokenId>> own_text(Engine& engine, uint32_t num_tokens) {
    GenerationRequest request;
    request.raw_text = "The keeper of the lighthouse found an old letter in the sand. He read";
    request.max_tokens = num_tokens;
    request.ignore_end = true;
    request.sampling.seed = 1;
    GenerationResult result = engine.generate(std::move(request)).wait();
    if (result.error) return *result.error;
    return std::move(result.tokens);
}

}  // namespace

Result<ScreenTiming> time_screen(LoadedModel& loaded, uint32_t num_tokens, uint32_t repetitions) {
    Engine& engine = *loaded.engine;
    const Result<std::vector<TokenId>> written = own_text(engine, kScreenPromptTokens + num_tokens);
    if (!written) return written.error();
    const std::vector<TokenId>& text = *written;
    if (text.size() <= kScreenPromptTokens)
        return Error{ErrorCode::bad_argument, "the model writes no text to be timed", "bench", ""};
    const auto border = text.begin() + kScreenPromptTokens;
    TimingRequest request{.prompt = {text.begin(), border}, .decode = {border, text.end()}};
    const auto count = static_cast<double>(request.decode.size());
    const auto time = [&](uint32_t num_best, std::vector<double>& rates) -> Result<void> {
        request.num_best = num_best;
        Result<Timing> timing = engine.measure_speed(request);
        if (!timing) return timing.error();
        if (timing->decode_s > 0) rates.push_back(count / timing->decode_s);
        return {};
    };
    std::vector<double> whole, top_k, greedy;
    for (double tokens = 0; tokens < kStartTokens; tokens += count)
        if (Result<void> timed = time(1, greedy); !timed) return timed.error();
    greedy.clear();
    for (uint32_t round = 0; round < repetitions; ++round) {
        if (Result<void> timed = time(0, whole); !timed) return timed.error();
        if (Result<void> timed = time(1, greedy); !timed) return timed.error();
    }
    // Behind the others, as screening may turn out not to pay there, and rest.
    for (uint32_t round = 0; round < repetitions; ++round)
        if (Result<void> timed = time(kTopK, top_k); !timed) return timed.error();
    return ScreenTiming{median(std::move(whole)), median(std::move(top_k)),
                        median(std::move(greedy))};
}

}  // namespace hokku::cli
