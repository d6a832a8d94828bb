// SPDX-License-Identifier: Apache-2.0
#include "settings/preset.h"

#include <algorithm>
#include <functional>

#include <QJsonDocument>
#include <QJsonObject>
#include <QSet>
#include <QTemporaryDir>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "settings/sampling_fields.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

Result<Preset> parse(const char* json) {
    return parsePreset(QByteArray(json), QStringLiteral("test.json"));
}

}  // namespace

TEST_CASE("Preset: every value survives its file", "[gui][quick]") {
    application();
    Preset preset;
    preset.name = QStringLiteral("All");
    preset.systemPrompt = QStringLiteral("Be brief.\n“Ja”");
    preset.modelPath = QStringLiteral("/models/ä.gguf");
    preset.maxTokens = 77;
    preset.thoughtBudget = 0;
    // A value of its own for each field, within its limits.
    for (const SamplingField& field : samplingFields())
        field.set(preset.sampling, qMin(field.most, field.least + 2 * field.step));
    preset.sampling.order = {SamplerStep::temperature, SamplerStep::top_k};
    preset.sampling.dry_breakers = {"\n", "a b"};
    preset.sampling.logit_bias = {{12, -100.0f}, {7, 0.1f}};
    const Result<Preset> read = parsePreset(presetToJson(preset), QStringLiteral("x"));
    REQUIRE(read.ok());
    CHECK(read->key == QStringLiteral("All"));
    CHECK_FALSE(read->isBuiltIn());
    CHECK(read->systemPrompt == preset.systemPrompt);
    CHECK(read->modelPath == preset.modelPath);
    CHECK(read->maxTokens == 77);
    CHECK(read->thoughtBudget == 0u);
    CHECK(read->sampling.order == preset.sampling.order);
    CHECK(read->sampling.dry_breakers == preset.sampling.dry_breakers);
    auto bias = read->sampling.logit_bias;
    std::sort(bias.begin(), bias.end(), std::greater<>());
    CHECK(bias == preset.sampling.logit_bias);
    for (const SamplingField& field : samplingFields()) {
        INFO(field.key);
        CHECK(field.get(read->sampling) ==
              Approx(qMin(field.most, field.least + 2 * field.step)).margin(1e-6));
    }
}

TEST_CASE("Preset: what is not in the file is the engine's default", "[gui][quick]") {
    application();
    const Result<Preset> preset = parse(R"({"name": "Bare"})");
    REQUIRE(preset.ok());
    const SamplingOptions standard;
    for (const SamplingField& field : samplingFields()) {
        INFO(field.key);
        CHECK(field.get(preset->sampling) == field.get(standard));
        // and lies within what the editor can show
        CHECK(field.get(standard) >= field.least);
        CHECK(field.get(standard) <= field.most);
    }
    CHECK(preset->sampling.order == standard.order);
    CHECK(preset->sampling.dry_breakers == standard.dry_breakers);
    CHECK_FALSE(preset->thoughtBudget.has_value());
}

TEST_CASE("Preset: wrong values are named with the key and what is allowed", "[gui][quick]") {
    application();
    const std::pair<const char*, const char*> wrong[] = {
        {R"({"name": ""})", "name"},
        {R"({"name": ":standard"})", "name"},
        {R"({"name": "x", "top_k": -1})", "top_k"},
        {R"({"name": "x", "top_k": "many"})", "top_k"},
        {R"({"name": "x", "mirostat": 3})", "mirostat"},
        {R"({"name": "x", "max_tokens": -1})", "max_tokens"},
        {R"({"name": "x", "thought_budget": 1e12})", "thought_budget"},
        {R"({"name": "x", "order": ["top_k", "top_k"]})", "order"},
        {R"({"name": "x", "order": ["nonsense"]})", "order"},
        {R"({"name": "x", "order": "top_k"})", "order"},
        {R"({"name": "x", "dry_breakers": [""]})", "dry_breakers"},
        {R"({"name": "x", "dry_breakers": "a"})", "dry_breakers"},
        {R"({"name": "x", "system_prompt": 5})", "system_prompt"},
        {R"({"name": "x", "model": ["a"]})", "model"},
        {R"({"name": "x", "logit_bias": [1]})", "logit_bias"},
        {R"({"name": "x", "logit_bias": {"-1": 1}})", "logit_bias"},
        {R"({"name": "x", "logit_bias": {"1": 101}})", "logit_bias"},
        {R"({"name": "x", "logit_bias": {"1": "a"}})", "logit_bias"},
    };
    for (const auto& [json, key] : wrong) {
        INFO(json);
        const Result<Preset> preset = parse(json);
        REQUIRE_FALSE(preset.ok());
        CHECK(preset.error().message().find(key) != std::string::npos);
    }
    CHECK_FALSE(parse("[1, 2").ok());
    const QByteArray large = QByteArray(R"({"name": "x"})") + QByteArray(kMostPresetBytes, ' ');
    const Result<Preset> tooLarge = parse(large.constData());
    REQUIRE_FALSE(tooLarge.ok());
    CHECK(tooLarge.error().message().find("too large") != std::string::npos);
}

TEST_CASE("Preset: each sampling value has words of its own", "[gui][quick]") {
    application();
    QSet<QString> names, helps, keys;
    for (const SamplingField& field : samplingFields()) {
        INFO(field.key);
        CHECK(field.help.size() > 20);
        names.insert(field.name);
        helps.insert(field.help);
        keys.insert(QLatin1String(field.key));
    }
    CHECK(names.size() == samplingFields().size());
    CHECK(helps.size() == samplingFields().size());
    // All that SamplingOptions has, but for the mode, the bias, and the two lists.
    for (const char* key : {"temperature",
                            "dynatemp_range",
                            "dynatemp_exponent",
                            "top_k",
                            "top_p",
                            "min_p",
                            "typical_p",
                            "top_n_sigma",
                            "xtc_probability",
                            "xtc_threshold",
                            "repeat_penalty",
                            "frequency_penalty",
                            "presence_penalty",
                            "penalty_last_n",
                            "dry_multiplier",
                            "dry_base",
                            "dry_allowed_length",
                            "dry_last_n",
                            "mirostat",
                            "mirostat_tau",
                            "mirostat_eta",
                            "seed"})
        CHECK(keys.contains(QLatin1String(key)));
    for (const SamplerStep step : SamplingOptions().order) {
        CHECK(findStep(stepKey(step)) == step);
        CHECK_FALSE(stepName(step).isEmpty());
    }
}

TEST_CASE("Preset: breakers fit on one line and come back", "[gui][quick]") {
    const std::vector<std::string> breakers{"\n", ":", "a b", "\\", "\t", "ä"};
    const QString text = breakersToText(breakers);
    CHECK(text == QStringLiteral("\\n : a\\sb \\\\ \\t ä"));
    CHECK(breakersFromText(text) == breakers);
    CHECK(breakersFromText(QStringLiteral("  x  ")) == std::vector<std::string>{"x"});
    CHECK(breakersFromText(QString()).empty());
}

TEST_CASE("Preset: bias fits on one line and comes back", "[gui][quick]") {
    const std::vector<std::pair<int32_t, float>> bias{{1234, -5.0f}, {77, 2.5f}};
    CHECK(biasToText(bias) == QStringLiteral("1234=-5 77=2.5"));
    CHECK(biasFromText(biasToText(bias)) == bias);
    CHECK(biasFromText(QStringLiteral("x=1 -3=1 4 5=nan 6=1000")) ==
          std::vector<std::pair<int32_t, float>>{{6, 100.0f}});
}
