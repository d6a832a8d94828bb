// SPDX-License-Identifier: Apache-2.0
#include "draft_timing.h"

#include <algorithm>
#include <string>

#include "typed_names.h"

namespace hokku::cli {

namespace {

GenerationRequest question(const ModelInfo& info, uint32_t num_tokens) {
    const std::string text =
        "Explain step by step how bread is made, from the field of wheat to the loaf on the table.";
    GenerationRequest request;
    if (info.has_chat_template) {
        request.messages.push_back({"user", text});
    } else {
        request.raw_text = text;
    }
    request.sampling.temperature = 0;
    request.max_tokens = num_tokens;
    request.ignore_end = true;
    request.prompt_lookup = false;  // Its guesses would be counted with the draft's.
    return request;
}

}  // namespace

Result<void> check_draft_context(const LoadedModel& loaded, uint32_t num_tokens) {
    const GenerationRequest request = question(loaded.info, num_tokens);
    Result<std::vector<TokenId>> prompt = loaded.engine->tokenize_request(request);
    if (!prompt) return prompt.error();
    const size_t needed = prompt->size() + request.max_tokens;
    if (needed <= loaded.info.context_tokens) return {};
    return Error{ErrorCode::bad_argument, "the text with the draft is longer than the context",
                 "a question of " + std::to_string(prompt->size()) + ", " + as_typed("--decode") +
                     " " + std::to_string(request.max_tokens) + ", a context of " +
                     std::to_string(loaded.info.context_tokens),
                 "a context of at least " + std::to_string(needed) + " tokens, or fewer tokens"};
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result<DraftTiming> time_draft(LoadedModel& loaded, uint32_t num_tokens, uint32_t repetitions) {
    GenerationRequest request = question(loaded.info, num_tokens);
    std::vector<double> plain, drafted, guessed, right;
    for (uint32_t round = 0; round <= repetitions; ++round) {
        for (const bool has_draft : {false, true}) {
            request.draft = has_draft;
            const GenerationResult result = loaded.engine->generate(request).wait();
            if (result.error) return *result.error;
            if (round == 0) continue;
            (has_draft ? drafted : plain).push_back(result.stats.decode_tok_s);
            if (!has_draft) continue;
            guessed.push_back(result.stats.guessed_tokens);
            right.push_back(result.stats.right_guesses);
        }
    }
    return DraftTiming{.plain_tok_s = median(std::move(plain)),
                       .drafted_tok_s = median(std::move(drafted)),
                       .guessed_tokens = median(std::move(guessed)),
                       .right_guesses = median(std::move(right))};
}

}  // namespace hokku::cli
