// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "model_options.h"
#include "typed_names.h"

namespace hokku::cli {

namespace {

struct PerplexityOptions {
    ModelOptions model;
    std::string file;
    bool json = false;
};

/// Negative log-likelihoods, summed over the tokens that were predicted.
struct Score {
    double nll = 0;
    uint64_t num_tokens = 0;
};

double log_probability(std::span<const float> logits, TokenId id) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    return static_cast<double>(logits[static_cast<size_t>(id)]) - largest - std::log(sum);
}

/// Scores a window: every token but the first is predicted from those before it in the window.
Result<void> score_window(Engine& engine, std::vector<TokenId> window, Score& score) {
    EvaluateRequest request;
    request.tokens = window;
    request.all_positions = true;
    request.on_logits = [&](uint32_t index, std::span<const float> logits) {
        if (index + 1 >= window.size()) return;
        score.nll -= log_probability(logits, window[index + 1]);
        ++score.num_tokens;
    };
    return engine.evaluate(request);
}

int perplexity(const PerplexityOptions& options) {
    Result<std::string> text = read_input(options.file, "--file");
    if (!text) return fail(text.error());
    Result<LoadedModel> loaded = load_model(options.model);
    if (!loaded) return fail_arguments(loaded.error());
    const std::shared_ptr<const Tokenizer> tokenizer = loaded->engine->tokenizer();
    Result<std::vector<TokenId>> ids = tokenizer->encode(*text, {});
    if (!ids) return fail(ids.error());

    // Each window starts as the model expects a text to start.
    std::vector<TokenId> start;
    if (tokenizer->special().add_bos && tokenizer->special().bos) {
        start.push_back(*tokenizer->special().bos);
    }
    const size_t window_tokens = loaded->info.context_tokens;
    if (window_tokens < start.size() + 2) {
        return fail_arguments({ErrorCode::bad_argument, "the context is too small",
                               "-c " + std::to_string(window_tokens),
                               "at least " + std::to_string(start.size() + 2)});
    }
    Score score;
    const size_t step = window_tokens - start.size();
    for (size_t first = 0; first < ids->size(); first += step) {
        std::vector<TokenId> window = start;
        const size_t last = std::min(ids->size(), first + step);
        window.insert(window.end(), ids->begin() + static_cast<std::ptrdiff_t>(first),
                      ids->begin() + static_cast<std::ptrdiff_t>(last));
        if (window.size() < 2) break;
        Result<void> done = score_window(*loaded->engine, std::move(window), score);
        if (!done) return fail(done.error());
    }
    if (score.num_tokens == 0) {
        return fail({ErrorCode::bad_argument, "the text is too short",
                     as_typed("--file") + " " + options.file, "at least two tokens"});
    }
    const double mean = score.nll / static_cast<double>(score.num_tokens);
    if (options.json) {
        write_json_line({{"perplexity", std::exp(mean)},
                         {"mean_nll", mean},
                         {"tokens", score.num_tokens},
                         {"window_tokens", window_tokens}});
        return kDone;
    }
    char line[160];
    std::snprintf(line, sizeof line,
                  "perplexity %.4f, mean negative log-likelihood %.5f over %s in windows of %zu\n",
                  std::exp(mean), mean, counted(score.num_tokens, "token").c_str(), window_tokens);
    write_result(line);
    return kDone;
}

}  // namespace

void add_perplexity(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("perplexity", "Measure how well a model predicts a text");
    auto options = std::make_shared<PerplexityOptions>();
    add_model_options(command, options->model);
    command->add_option("-f,--file", options->file, "The text; - is stdin")
        ->type_name("FILE")
        ->required();
    command->add_flag("--json", options->json, "Print one JSON object");
    command->callback([&chosen, options] { chosen = [options] { return perplexity(*options); }; });
}

}  // namespace hokku::cli
