// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "commands.h"
#include "console.h"
#include "model_options.h"
#include "token_list.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

struct LogitsOptions {
    ModelOptions model;
    std::string tokens;
    std::optional<std::string> ids;
    uint32_t top = 5, chunk_tokens = 0;
    bool all = false, hidden = false, stages = false;
};

/// log(sum(exp(logits))) in double precision.
double logsumexp_of(std::span<const float> logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    return largest + std::log(sum);
}

/// [[id, logit], ..], largest first; equal logits in the order of their ids.
Json top_of(std::span<const float> logits, size_t count) {
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    count = std::min(count, ids.size());
    const auto at = [&](TokenId id) { return logits[static_cast<size_t>(id)]; };
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                      [&](TokenId a, TokenId b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
    Json top = Json::array();
    for (size_t i = 0; i < count; ++i) top.push_back({ids[i], at(ids[i])});
    return top;
}

Json position_of(uint32_t index, std::span<const float> logits, std::span<const TokenId> ids,
                 size_t top) {
    const auto argmax = std::max_element(logits.begin(), logits.end()) - logits.begin();
    Json position{{"index", index},
                  {"argmax", argmax},
                  {"logsumexp", logsumexp_of(logits)},
                  {"top", top_of(logits, top)}};
    Json wanted = Json::array();
    for (const TokenId id : ids) wanted.push_back(logits[static_cast<size_t>(id)]);
    if (!ids.empty()) position["logits"] = std::move(wanted);
    return position;
}

int show_logits(LogitsOptions options) {
    Result<std::vector<TokenId>> tokens = read_token_list(options.tokens, "--tokens");
    if (!tokens) return fail_arguments(tokens.error());
    Result<std::vector<TokenId>> ids = std::vector<TokenId>();
    if (options.ids) ids = read_token_list(*options.ids, "--ids");
    if (!ids) return fail_arguments(ids.error());
    if (!options.model.context_tokens) {
        options.model.context_tokens = static_cast<uint32_t>(std::max<size_t>(tokens->size(), 1));
    }
    Result<LoadedModel> loaded = load_model(options.model);
    if (!loaded) return fail_arguments(loaded.error());
    for (const auto& [list, option] :
         {std::pair(&*tokens, "--tokens"), std::pair(&*ids, "--ids")}) {
        const Result<void> checked = check_ids(*list, loaded->info.num_vocab, option);
        if (!checked) return fail_arguments(checked.error());
    }
    Json positions = Json::array(), hidden = Json::array(), stages = Json::object();
    EvaluateRequest request;
    request.tokens = *tokens;
    request.all_positions = options.all;
    request.hidden = options.hidden;
    request.stages = options.stages;
    request.chunk_tokens = options.chunk_tokens;
    request.on_logits = [&](uint32_t index, std::span<const float> logits) {
        positions.push_back(position_of(index, logits, *ids, options.top));
    };
    request.on_trace = [&](const std::string& name, std::span<const float> values) {
        // "layer3.q" is an inner value; "embed", "layer3" and "final_norm" are the stream itself.
        Json numbers(std::vector<float>(values.begin(), values.end()));
        if (name.find('.') != std::string::npos) {
            stages[name] = std::move(numbers);
        } else {
            // As transformers lists hidden states: the last layer's appears after the final norm.
            if (name == "final_norm" && hidden.size() > 1) hidden.erase(hidden.size() - 1);
            hidden.push_back(std::move(numbers));
        }
    };
    Result<void> done = loaded->engine->evaluate(request);
    if (!done) return fail(done.error());
    Json result{{"positions", std::move(positions)}};
    if (options.hidden) result["hidden"] = std::move(hidden);
    if (options.stages) result["stages"] = std::move(stages);
    write_json_line(result);
    return kDone;
}

}  // namespace

void add_logits(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("logits", "Show what the model makes of given tokens, as JSON");
    auto options = std::make_shared<LogitsOptions>();
    add_model_options(command, options->model);
    command->add_option("--tokens", options->tokens, "Token ids: 1,2,3 or @FILE")
        ->type_name("LIST")
        ->required();
    command->add_flag("--all", options->all, "Every position instead of the last one");
    command->add_option("--top", options->top, "Show the K largest logits")
        ->type_name("K")
        ->capture_default_str()
        ->transform(is_whole(0, kMostUint32));
    command->add_option("--ids", options->ids, "Show the logits of these ids: 1,2,3 or @FILE")
        ->type_name("LIST");
    command->add_flag("--hidden", options->hidden,
                      "The residual stream at the last position: after the embedding, after each "
                      "layer, of the last one after the final norm");
    command->add_flag("--stages", options->stages,
                      "Inner values of each layer at the last position");
    command
        ->add_option("--chunk", options->chunk_tokens,
                     "Tokens evaluated at a time; 0: chosen by the engine")
        ->type_name("N")
        ->transform(is_whole(0, kMostUint32));
    command->callback([&chosen, options] { chosen = [options] { return show_logits(*options); }; });
}

}  // namespace hokku::cli
