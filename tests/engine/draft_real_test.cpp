// SPDX-License-Identifier: Apache-2.0
// Draft models on real backends: golden models that share a tokenizer draft for each other, and the
// distribution of what is drawn behind guesses is that of the model's own probabilities.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/try.h"
#include "engine/engine_access.h"
#include "engine/model_loader.h"
#include "hokku/engine.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/golden_cases.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// A draft that is as dear as its model would not be asked: here it seems cheap.
class CheapDraftLoader : public ModelLoader {
  public:
    Result<LoadedModel> open(const LoadOptions& options, const LoadControl& control) override {
        return loader_->open(options, control);
    }
    Result<void> start(LoadedModel& loaded, const LoadOptions& options,
                       const LoadControl& control) override {
        HOKKU_CHECK(loader_->start(loaded, options, control));
        loaded.draft->info.bytes_per_token = loaded.info.bytes_per_token / 10;
        loaded.are_guesses_timed = false;
        return {};
    }

  private:
    std::unique_ptr<ModelLoader> loader_ = make_model_loader();
};

std::unique_ptr<Engine> load_pair(const std::filesystem::path& model,
                                  const std::filesystem::path& draft) {
    auto engine = EngineAccess::create(std::make_unique<CheapDraftLoader>()).value();
    const auto loaded = engine->load({.path = model, .num_threads = 1, .draft_model = draft});
    if (!loaded.ok()) FAIL(loaded.error().message());
    return engine;
}

/// Softmax of the logits after these tokens by temperature.
std::vector<double> probabilities_after(Engine& engine, const std::vector<TokenId>& tokens,
                                        double temperature) {
    std::vector<double> values;
    EvaluateRequest request;
    request.tokens = tokens;
    request.on_logits = [&](uint32_t, std::span<const float> logits) {
        values.assign(logits.begin(), logits.end());
    };
    REQUIRE(engine.evaluate(request).ok());
    const double most = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double& value : values) sum += value = std::exp((value - most) / temperature);
    for (double& value : values) value /= sum;
    return values;
}

/// Chi-square of the counts, values of fewer than 5 expected ones put together, by what it exceeds
/// once in a thousand times (Wilson and Hilferty 1931).
double chi_square_share(const std::map<TokenId, int>& counts, const std::vector<double>& wanted,
                        int total) {
    double sum = 0, rest_wanted = 0;
    int num_cells = 0, rest_found = total;
    for (size_t id = 0; id < wanted.size(); ++id) {
        const double expected = wanted[id] * total;
        if (expected < 5) {
            rest_wanted += expected;
            continue;
        }
        const auto found = counts.find(static_cast<TokenId>(id));
        const int count = found == counts.end() ? 0 : found->second;
        rest_found -= count;
        sum += (count - expected) * (count - expected) / expected;
        ++num_cells;
    }
    if (rest_wanted >= 5) {
        sum += (rest_found - rest_wanted) * (rest_found - rest_wanted) / rest_wanted;
        ++num_cells;
    }
    REQUIRE(num_cells >= 3);
    const double freedom = num_cells - 1;
    const double spread = 2.0 / (9.0 * freedom);
    return sum / (freedom * std::pow(1 - spread + 3.09 * std::sqrt(spread), 3));
}

}  // namespace

TEST_CASE("Engine: golden models draft for each other and the texts stay", "[engine]") {
    const std::array names{"llama_bias", "qwen2", "gemma3", "qwen3moe"};
    std::vector<std::filesystem::path> models;
    for (const char* name : names) {
        const auto folder = find_golden(std::string("arch/") + name);
        if (!folder) {
            report_skip("no golden/arch beside the checkout");
            return;
        }
        models.push_back(*folder);
    }
    for (const auto& model : models) {
        for (const auto& draft : models) {
            CAPTURE(model.filename().string(), draft.filename().string());
            const auto engine = load_pair(model / "model.gguf", draft / "model.gguf");
            uint32_t num_guessed = 0, num_right = 0;
            for (const GoldenCase& golden : read_golden_cases(model / "visible.json")) {
                GenerationRequest request;
                request.tokens = golden.tokens;
                request.sampling.temperature = 0;
                request.max_tokens = 60;
                request.ignore_end = true;
                request.prompt_lookup = false;
                const GenerationResult drafted = engine->generate(request).wait();
                request.draft = false;
                const GenerationResult plain = engine->generate(request).wait();
                CHECK(drafted.tokens == plain.tokens);
                num_guessed += drafted.stats.drafted_tokens;
                num_right += drafted.stats.right_guesses;
                request.sampling.temperature = 1.0f;
                request.sampling.seed = 4;
                const GenerationResult plain_drawn = engine->generate(request).wait();
                request.draft = true;
                CHECK(engine->generate(request).wait().tokens == plain_drawn.tokens);
            }
            CHECK(num_guessed > 0);
            if (model == draft) CHECK(2 * num_right > num_guessed);
        }
    }
}

TEST_CASE("Engine: what is drawn behind guesses has the model's own distribution",
          "[engine][quick]") {
    const auto path = find_golden_or_copy("arch/llama_bias/model.gguf");
    REQUIRE(path);
    // The draft is the model, so that favourites are guessed: what comes next is then drawn from a
    // row behind a guess.
    constexpr float kTemperature = 0.8f;
    constexpr int kRuns = 1500;
    const std::vector<TokenId> prompt{10, 200, 31, 7, 77};
    const auto engine = load_pair(*path, *path);
    GenerationRequest request;
    request.tokens = prompt;
    request.max_tokens = 4;
    request.ignore_end = true;
    request.prompt_lookup = false;
    request.sampling.temperature = kTemperature;
    request.sampling.top_k = 0;
    request.sampling.top_p = 1;
    request.sampling.min_p = 0;
    request.sampling.repeat_penalty = 1;
    std::vector<std::vector<TokenId>> texts;
    for (int i = 0; i < kRuns; ++i) {
        request.sampling.seed = static_cast<uint64_t>(1000 + i);
        texts.push_back(engine->generate(request).wait().tokens);
    }
    // Each place by itself, behind the commonest beginning.
    std::vector<TokenId> beginning;
    for (size_t place = 0; place < 3; ++place) {
        std::map<TokenId, int> counts;
        int total = 0;
        for (const auto& text : texts) {
            if (!std::equal(beginning.begin(), beginning.end(), text.begin())) continue;
            ++counts[text[place]];
            ++total;
        }
        CAPTURE(place, total);
        if (total < 100) break;
        std::vector<TokenId> tokens = prompt;
        tokens.insert(tokens.end(), beginning.begin(), beginning.end());
        CHECK(chi_square_share(counts, probabilities_after(*engine, tokens, kTemperature), total) <
              1);
        beginning.push_back(
            std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            })->first);
    }
    CHECK(beginning.size() >= 2);
}

TEST_CASE("Engine: a real model with itself as its draft gives the same text", "[engine][model]") {
    for (const char* name : {"smollm2", "gemma3", "qwen2"}) {
        CAPTURE(name);
        const auto path = find_model(name);
        if (!path) {
            report_skip(std::string("the model is not there: ") + name);
            return;
        }
        const auto engine = load_pair(*path, *path);
        for (const float temperature : {0.0f, 0.8f}) {
            GenerationRequest request;
            request.raw_text = "The lighthouse keeper wrote in his diary that";
            request.max_tokens = 120;
            request.sampling.temperature = temperature;
            request.sampling.seed = 5;
            request.prompt_lookup = false;
            const GenerationResult drafted = engine->generate(request).wait();
            request.draft = false;
            const GenerationResult plain = engine->generate(request).wait();
            REQUIRE(plain.reason != StopReason::failed);
            CHECK(drafted.tokens == plain.tokens);
            std::cout << name << ": " << drafted.stats.right_guesses << " of "
                      << drafted.stats.drafted_tokens << " drafted tokens were right, "
                      << drafted.stats.decode_tok_s << " and " << plain.stats.decode_tok_s
                      << " tok/s with and without\n";
        }
    }
}
