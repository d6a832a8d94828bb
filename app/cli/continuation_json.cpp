// SPDX-License-Identifier: Apache-2.0
#include "continuation_json.h"

#include <nlohmann/json.hpp>

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

Json token_json(const TokenLogprob& token, const Tokenizer& tokenizer) {
    const auto entry = [&](TokenId id, float logprob) {
        return Json{{"id", id}, {"text", tokenizer.token_bytes(id, true)}, {"logprob", logprob}};
    };
    Json json = entry(token.id, token.logprob);
    json["top"] = Json::array();
    for (const auto& [id, logprob] : token.top) json["top"].push_back(entry(id, logprob));
    return json;
}

}  // namespace

Json tool_call_json(const ToolCall& call) {
    Json json{{"id", call.id}, {"name", call.name}};
    if (call.is_valid()) {
        json["arguments"] = Json::parse(call.arguments_json);
    } else {
        json["problem"] = call.problem;
        json["text"] = call.text;
    }
    return json;
}

Json continuation_json(const Continuation& continuation, const Tokenizer* tokenizer) {
    const GenerationResult& result = continuation.result;
    const GenerationStats& stats = result.stats;
    Json calls = Json::array();
    for (const ToolCall& call : result.tool_calls) calls.push_back(tool_call_json(call));
    Json json{{"text", result.text},
              {"thought", result.thought},
              {"tool_calls", std::move(calls)},
              {"tokens", result.tokens},
              {"stop_reason", stop_reason_name(result.reason)},
              {"seed", result.seed},
              {"meets_constraints", result.meets_constraints}};
    if (!result.notice.empty()) json["notice"] = result.notice;
    if (result.error) json["error"] = result.error->message();
    if (tokenizer != nullptr) {
        json["logprobs"] = Json::array();
        for (const TokenLogprob& token : continuation.tokens)
            json["logprobs"].push_back(token_json(token, *tokenizer));
    }
    json["stats"] = {{"prompt_tokens", stats.prompt_tokens},
                     {"forward_tokens", stats.forward_tokens},
                     {"prefill_tok_s", stats.prefill_tok_s},
                     {"decode_tok_s", stats.decode_tok_s},
                     {"ttft_ms", stats.ttft_ms},
                     {"peak_memory_mb", stats.peak_memory_mb},
                     {"cached_tokens", stats.cached_tokens},
                     {"generated_tokens", stats.generated_tokens},
                     {"guessed_tokens", stats.guessed_tokens},
                     {"right_guesses", stats.right_guesses},
                     {"drafted_tokens", stats.drafted_tokens}};
    return json;
}

}  // namespace hokku::cli
