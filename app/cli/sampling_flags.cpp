// SPDX-License-Identifier: Apache-2.0
#include "sampling_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "model_options.h"

namespace hokku::cli {

namespace {

constexpr std::pair<std::string_view, SamplerStep> kSteps[] = {
    {"penalties", SamplerStep::penalties},
    {"top_k", SamplerStep::top_k},
    {"top_p", SamplerStep::top_p},
    {"min_p", SamplerStep::min_p},
    {"temperature", SamplerStep::temperature}};

Error wrong(std::string what, std::string_view found, std::string expected) {
    return {ErrorCode::bad_argument, std::move(what), "\"" + std::string(found) + "\"",
            std::move(expected)};
}

Result<std::pair<int32_t, float>> parse_bias(std::string_view text) {
    const auto error = [&] {
        return wrong("not a logit bias", text, "ID=VALUE such as 15043=-2.5 or 15043=-inf");
    };
    const size_t cut = text.find('=');
    if (cut == std::string_view::npos) return error();
    const std::string_view id_text = text.substr(0, cut), value_text = text.substr(cut + 1);
    int32_t id = 0;
    const auto id_read = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    if (id_read.ec != std::errc() || id_read.ptr != id_text.data() + id_text.size() || id < 0)
        return error();
    float value = 0;
    const auto read =
        std::from_chars(value_text.data(), value_text.data() + value_text.size(), value);
    if (read.ec != std::errc() || read.ptr != value_text.data() + value_text.size()) return error();
    if (std::isnan(value) || value == std::numeric_limits<float>::infinity()) return error();
    return std::pair(id, value);
}

Result<std::vector<SamplerStep>> parse_order(std::string_view text) {
    std::vector<SamplerStep> order;
    const std::string_view whole = text;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        const auto* step = std::find_if(std::begin(kSteps), std::end(kSteps),
                                        [&](const auto& known) { return known.first == word; });
        if (step == std::end(kSteps)) {
            return wrong("no such sampler step", word,
                         "some of penalties,top_k,top_p,min_p,temperature");
        }
        if (std::find(order.begin(), order.end(), step->second) != order.end()) {
            return wrong("a sampler step is listed twice", whole, "each step at most once");
        }
        order.push_back(step->second);
    }
    return order;
}

}  // namespace

void add_sampling_flags(CLI::App* command, SamplingFlags& flags) {
    constexpr float kMost = 1e6f;
    constexpr int32_t kMostTokens = std::numeric_limits<int32_t>::max();
    SamplingOptions& options = flags.options;
    const auto add = [&](const char* name, auto& value, auto least, auto most, const char* help) {
        CLI::Option* option = command->add_option(name, value, help)->type_name("N");
        option->capture_default_str()->group("Sampling");
        if constexpr (std::is_integral_v<decltype(most)>) {
            option->transform(is_whole(least, static_cast<uint64_t>(most)));
        } else {
            option->check(in_range(least, most));
        }
    };
    add("--temp,--temperature", options.temperature, 0.0f, kMost,
        "0 always takes the likeliest token");
    command->add_option("--seed", options.seed, "Repeats a run; else drawn at random and shown")
        ->type_name("N")
        ->transform(is_whole(0, std::numeric_limits<uint64_t>::max()))
        ->group("Sampling");
    add("--top-k", options.top_k, 0, kMostTokens, "Keep the N likeliest; 0: all");
    add("--top-p", options.top_p, 0.0f, 1.0f, "Keep the smallest set with this mass; 1: all");
    add("--min-p", options.min_p, 0.0f, 1.0f, "Drop what is below this share of the best; 0: none");
    add("--repeat-penalty", options.repeat_penalty, 1e-3f, kMost,
        "1: none; if not given 1.1, or none at --temp 0");
    add("--frequency-penalty", options.frequency_penalty, -kMost, kMost, "0: none");
    add("--presence-penalty", options.presence_penalty, -kMost, kMost, "0: none");
    add("--penalty-last-n", options.penalty_last_n, -1, kMostTokens,
        "Tokens that the penalties look back; -1: all");
    command
        ->add_option("--logit-bias", flags.bias, "ID=N adds N to the logit of ID; may be repeated")
        ->type_name("ID=N")
        ->allow_extra_args(false)
        ->group("Sampling");
    command
        ->add_option("--sampler-order", flags.order,
                     "The steps in order: penalties,top_k,top_p,min_p,temperature")
        ->type_name("STEPS")
        ->group("Sampling");
}

Result<SamplingOptions> sampling_options(const SamplingFlags& flags) {
    SamplingOptions options = flags.options;
    for (const std::string& text : flags.bias) {
        Result<std::pair<int32_t, float>> bias = parse_bias(text);
        if (!bias) return bias.error();
        options.logit_bias.push_back(*bias);
    }
    if (!flags.order.empty()) {
        Result<std::vector<SamplerStep>> order = parse_order(flags.order);
        if (!order) return order.error();
        options.order = std::move(*order);
    }
    return options;
}

}  // namespace hokku::cli
