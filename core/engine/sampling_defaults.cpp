// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling_defaults.h"

#include <limits>
#include <string>

namespace hokku {
namespace {

constexpr uint64_t kMostTopK = std::numeric_limits<int32_t>::max();

/// Of any type of number.
std::optional<double> find_number(const GgufMetadata& metadata, std::string_view name, double least,
                                  double most) {
    const std::string key = "general.sampling." + std::string(name);
    std::optional<double> value;
    if (const auto number = metadata.find_float(key); number.ok()) {
        value = *number;
    } else if (const auto whole = metadata.find_uint(key, 0, kMostTopK); whole.ok() && *whole) {
        value = static_cast<double>(**whole);
    }
    return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<float> find_value(const GgufMetadata& metadata, std::string_view name, double least,
                                double most) {
    const auto value = find_number(metadata, name, least, most);
    if (!value) return std::nullopt;
    return static_cast<float>(*value);
}

/// What makers recommend for chats with models whose files do not have it, by general.basename.
struct Recommendation {
    std::string_view basename;
    SamplingDefaults values;
};
constexpr Recommendation kRecommended[] = {
    // Source: "How to use" of the model cards HuggingFaceTB/SmolLM2-135M-Instruct, -360M-Instruct
    // and -1.7B-Instruct: generate(.., temperature=0.2, top_p=0.9, do_sample=True).
    {"smollm2", {.temperature = 0.2f, .top_p = 0.9f}},
};

SamplingDefaults recommended_for(const GgufMetadata& metadata) {
    const auto text = [&](std::string_view key) {
        const auto found = metadata.find_string(key);
        std::string value(found.ok() && found->has_value() ? **found : std::string_view());
        for (char& c : value)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return value;
    };
    if (text("tokenizer.chat_template").empty()) return {};
    const std::string basename = text("general.basename");
    for (const Recommendation& row : kRecommended)
        if (row.basename == basename) return row.values;
    return {};
}

}  // namespace

SamplingDefaults read_sampling_defaults(const GgufMetadata& metadata) {
    constexpr double kMostTemperature = 5, kMostPenalty = 2;
    SamplingDefaults defaults{
        .temperature = find_value(metadata, "temp", 0, kMostTemperature),
        .top_p = find_value(metadata, "top_p", 0, 1),
        .min_p = find_value(metadata, "min_p", 0, 1),
        .repeat_penalty = find_value(metadata, "penalty_repeat", 1, kMostPenalty),
        .top_k = std::nullopt};
    if (const auto k = find_number(metadata, "top_k", 0, static_cast<double>(kMostTopK)))
        defaults.top_k = static_cast<int32_t>(*k);
    return defaults == SamplingDefaults() ? recommended_for(metadata) : defaults;
}

}  // namespace hokku
