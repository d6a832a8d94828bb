// SPDX-License-Identifier: Apache-2.0
// The forward pass however a text is cut into steps: pieces, sequences side by side, rows asked
// for, wrong steps, values that are not finite, cancelling.
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/golden_cases.h"
#include "support/model_runner.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// Models that between them have windows, experts, q/k norms, biases and both RoPE pairings.
const std::vector<std::string> kModels = {"llama_bias", "gemma3_w16", "qwen2moe", "olmo3",
                                          "gemma2"};

std::vector<int32_t> long_text(const std::string& name) {
    const auto cases = read_golden_cases(*find_golden_or_copy("arch/" + name + "/visible.json"));
    REQUIRE(cases.size() == 3);
    std::vector<int32_t> tokens;
    for (int repeat = 0; repeat < 4; ++repeat)
        tokens.insert(tokens.end(), cases[2].tokens.begin(), cases[2].tokens.end());
    REQUIRE(tokens.size() == 160);  // several KV blocks
    return tokens;
}

}  // namespace

TEST_CASE("Forward: a prompt in pieces of 1, 7 and 64 gives the logits of one step",
          "[backend][quick]") {
    for (const std::string& name : kModels) {
        INFO("model " << name);
        const auto path = find_golden_or_copy("arch/" + name + "/model.gguf");
        if (!path) continue;  // the two of tests/data are always there
        const auto runner = open_or_fail(*path, {.max_step_logits = 256});
        const std::vector<int32_t> tokens = long_text(name);
        const auto whole = value_of(runner->evaluate(tokens, 256));
        for (const uint32_t chunk : {1u, 7u, 64u})
            CHECK(max_difference(value_of(runner->evaluate(tokens, chunk)), whole) <= 1e-4f);
    }
}

TEST_CASE("Forward: the number of threads does not change the logits", "[backend][quick]") {
    for (const std::string name : {"gemma3_w16", "qwen2moe"}) {
        INFO("model " << name);
        const auto path = find_golden_or_copy("arch/" + name + "/model.gguf");
        if (!path) continue;  // the two of tests/data are always there
        const std::vector<int32_t> tokens = long_text(name);
        const auto one = open_or_fail(*path, {.num_threads = 1, .max_step_logits = 256});
        const auto two = open_or_fail(*path, {.num_threads = 2, .max_step_logits = 256});
        for (const uint32_t chunk : {1u, 256u})
            CHECK(value_of(one->evaluate(tokens, chunk)) == value_of(two->evaluate(tokens, chunk)));
    }
}

TEST_CASE("Forward: sequences of different lengths in one step equal each alone",
          "[backend][quick]") {
    for (const std::string& name : kModels) {
        INFO("model " << name);
        const auto path = find_golden_or_copy("arch/" + name + "/model.gguf");
        if (!path) continue;  // the two of tests/data are always there
        const auto runner = open_or_fail(*path, {.num_sequences = 3});
        const std::vector<int32_t> text = long_text(name);
        const std::span<const int32_t> all(text);
        const std::vector<std::span<const int32_t>> prompts = {
            all.subspan(0, 70), all.subspan(30, 5), all.subspan(90, 33)};

        std::vector<std::vector<float>> alone;
        for (const auto& prompt : prompts) {
            runner->reset();
            value_of(runner->append(prompt.first(prompt.size() - 1)));
            alone.push_back(value_of(runner->append(prompt.last(1))));
        }

        // All but the last token of each in one step, then the last tokens together.
        std::vector<int32_t> tokens;
        std::vector<StepSequence> sequences;
        for (uint32_t s = 0; s < prompts.size(); ++s) {
            const auto count = static_cast<uint32_t>(prompts[s].size()) - 1;
            sequences.push_back(
                {static_cast<uint32_t>(tokens.size()), count, 0, runner->blocks(s)});
            tokens.insert(tokens.end(), prompts[s].begin(), prompts[s].end() - 1);
        }
        value_of(
            runner->backend().run({.tokens = tokens, .sequences = sequences, .logit_rows = {}}));
        std::vector<int32_t> lasts;
        const std::vector<uint32_t> rows = {0, 1, 2};
        for (uint32_t s = 0; s < prompts.size(); ++s) {
            lasts.push_back(prompts[s].back());
            sequences[s] = {s, 1, sequences[s].num_rows, runner->blocks(s)};
        }
        const auto together = value_of(
            runner->backend().run({.tokens = lasts, .sequences = sequences, .logit_rows = rows}));
        for (size_t s = 0; s < prompts.size(); ++s)
            CHECK(max_difference(row_of(together, s, runner->num_vocab()), alone[s]) <= 1e-4f);
    }
}

TEST_CASE("Forward: to the bit, logits do not depend on the sequences beside them",
          "[backend][quick]") {
    for (const bool exact : {true, false}) {
        for (const std::string& name : kModels) {
            INFO("model " << name << (exact ? ", exact" : ", fast"));
            const auto path = find_golden_or_copy("arch/" + name + "/model.gguf");
            if (!path) continue;  // the two of tests/data are always there
            const auto runner = open_or_fail(*path, {.exact = exact, .num_sequences = 4});
            const std::vector<int32_t> text = long_text(name);
            const std::span<const int32_t> all(text);
            // The last tokens of each, after the others: three that decode and a piece of a prompt.
            struct Part {
                std::span<const int32_t> before, now;
            };
            const std::vector<Part> parts = {{all.subspan(0, 70), all.subspan(70, 1)},
                                             {all.subspan(30, 4), all.subspan(34, 1)},
                                             {all.subspan(90, 33), all.subspan(123, 3)},
                                             {all.subspan(11, 15), all.subspan(26, 50)}};
            std::vector<std::vector<float>> alone;
            std::vector<int32_t> tokens;
            std::vector<StepSequence> sequences;
            std::vector<uint32_t> rows;
            for (uint32_t s = 0; s < parts.size(); ++s) {
                const auto [before, now] = parts[s];
                const auto num_before = static_cast<uint32_t>(before.size());
                const auto num_now = static_cast<uint32_t>(now.size());
                StepSequence sequence{0, num_before, 0, runner->blocks(s)};
                value_of(runner->backend().run(
                    {.tokens = before, .sequences = {&sequence, 1}, .logit_rows = {}}));
                sequence = {0, num_now, num_before, runner->blocks(s)};
                const uint32_t last = num_now - 1;
                const auto logits = value_of(runner->backend().run(
                    {.tokens = now, .sequences = {&sequence, 1}, .logit_rows = {&last, 1}}));
                alone.emplace_back(logits.begin(), logits.end());
                sequence.first_row = static_cast<uint32_t>(tokens.size());
                sequences.push_back(sequence);
                tokens.insert(tokens.end(), now.begin(), now.end());
                rows.push_back(static_cast<uint32_t>(tokens.size()) - 1);
            }
            const auto together = value_of(runner->backend().run(
                {.tokens = tokens, .sequences = sequences, .logit_rows = rows}));
            for (size_t s = 0; s < parts.size(); ++s) {
                CAPTURE(s);
                CHECK(max_difference(row_of(together, s, runner->num_vocab()), alone[s]) == 0.0f);
            }
        }
    }
}

TEST_CASE("Forward: to the bit, a few tokens at once are as one by one", "[backend][quick]") {
    for (const bool exact : {true, false}) {
        for (const std::string& name : kModels) {
            INFO("model " << name << (exact ? ", exact" : ", fast"));
            const auto path = find_golden_or_copy("arch/" + name + "/model.gguf");
            if (!path) continue;  // the two of tests/data are always there
            const auto runner = open_or_fail(*path, {.exact = exact});
            const std::vector<int32_t> text = long_text(name);
            const std::span<const int32_t> all(text);
            const auto last_of = [&](uint32_t chunk) {
                runner->reset();
                value_of(runner->append(all.first(61)));
                std::vector<float> logits;
                for (uint32_t done = 61; done < 85; done += chunk)
                    logits = value_of(runner->append(all.subspan(done, chunk)));
                return logits;
            };
            const std::vector<float> one_by_one = last_of(1);
            for (const uint32_t chunk : {2u, 3u, 8u})
                CHECK(max_difference(last_of(chunk), one_by_one) == 0.0f);
        }
    }
}

TEST_CASE("Forward: only the rows asked for have logits, in their order", "[backend][quick]") {
    const auto runner = open_or_fail(*find_golden_or_copy("arch/llama_bias/model.gguf"));
    const std::vector<int32_t> tokens = long_text("llama_bias");
    const auto all = value_of(runner->evaluate(std::span(tokens).first(50), 64));
    const StepSequence sequence{0, 50, 0, runner->blocks(0)};
    const std::vector<uint32_t> rows = {3, 17, 49};
    const auto some = value_of(runner->backend().run(
        {.tokens = std::span(tokens).first(50), .sequences = {&sequence, 1}, .logit_rows = rows}));
    const size_t num_vocab = runner->num_vocab();
    REQUIRE(some.size() == 3 * num_vocab);
    for (size_t i = 0; i < rows.size(); ++i)
        CHECK(max_difference(row_of(some, i, num_vocab), row_of(all, rows[i], num_vocab)) <= 1e-5f);
}

TEST_CASE("Forward: a copied KV block continues as the original", "[backend][quick]") {
    const auto runner =
        open_or_fail(*find_golden_or_copy("arch/gemma3_w16/model.gguf"), {.num_sequences = 2});
    const std::vector<int32_t> tokens = long_text("gemma3_w16");
    value_of(runner->append(std::span(tokens).first(40)));
    runner->backend().copy_block(runner->blocks(0)[0], runner->blocks(1)[0]);
    const auto original = value_of(runner->append(std::span(tokens).subspan(40, 1)));
    const StepSequence sequence{0, 1, 40, runner->blocks(1)};
    const uint32_t row = 0;
    const auto copy = value_of(runner->backend().run({.tokens = std::span(tokens).subspan(40, 1),
                                                      .sequences = {&sequence, 1},
                                                      .logit_rows = {&row, 1}}));
    CHECK(max_difference(copy, original) == 0.0f);
}

TEST_CASE("Forward: wrong steps are refused by name", "[backend][quick]") {
    const auto runner =
        open_or_fail(*find_golden_or_copy("arch/llama_bias/model.gguf"),
                     {.context_tokens = 128, .max_step_tokens = 100, .max_step_logits = 2});
    Backend& backend = runner->backend();
    const std::vector<int32_t> tokens(100, 5);
    const auto error_of = [&](std::span<const int32_t> ids, const StepSequence& sequence,
                              std::vector<uint32_t> rows) {
        auto result = backend.run({.tokens = ids, .sequences = {&sequence, 1}, .logit_rows = rows});
        REQUIRE_FALSE(result.ok());
        CHECK(result.error().code == ErrorCode::bad_argument);
        return result.error().message();
    };
    const auto blocks = runner->blocks(0);
    const std::span<const int32_t> ids(tokens);
    CHECK(error_of({}, {0, 0, 0, blocks}, {}).find("0 tokens") != std::string::npos);
    const std::vector<int32_t> too_many(101, 5);
    CHECK(error_of(too_many, {0, 101, 0, blocks}, {}).find("101 tokens") != std::string::npos);
    for (const int32_t bad : {-1, 512, std::numeric_limits<int32_t>::max()}) {
        const std::vector<int32_t> one = {bad};
        CHECK(error_of(one, {0, 1, 0, blocks}, {}).find(std::to_string(bad)) != std::string::npos);
    }
    CHECK(error_of(ids, {0, 100, 0, blocks}, {0, 1, 2}).find("3 rows") != std::string::npos);
    CHECK(error_of(ids, {0, 100, 0, blocks}, {100}).find("row 100") != std::string::npos);
    CHECK(error_of(ids, {0, 100, 0, blocks}, {5, 5}).find("row 5") != std::string::npos);
    CHECK(error_of(ids, {0, 100, 29, blocks}, {}).find("129 tokens") != std::string::npos);
    CHECK(error_of(ids, {0, 99, 0, blocks}, {}).find("99 rows") != std::string::npos);
    const std::vector<uint32_t> foreign = {0, 2};
    CHECK(error_of(ids, {0, 100, 0, foreign}, {}).find("block is 2") != std::string::npos);
    // And a right step still works.
    CHECK(value_of(runner->evaluate(ids, 100)).size() == 100 * size_t{512});
}

TEST_CASE("Forward: a second thread is refused", "[backend][quick]") {
    const auto runner = open_or_fail(*find_golden_or_copy("arch/llama_bias/model.gguf"));
    const std::vector<int32_t> tokens = {1, 2, 3};
    value_of(runner->append(tokens));
    std::string message;
    std::thread([&] {
        auto result = runner->append(tokens);
        if (!result.ok()) message = result.error().message();
    }).join();
    CHECK(message.find("second thread") != std::string::npos);
}

TEST_CASE("Forward: a stop request cancels the step", "[backend][quick]") {
    const auto runner = open_or_fail(*find_golden_or_copy("arch/llama_bias/model.gguf"));
    const std::vector<int32_t> tokens = {1, 2, 3};
    const StepSequence sequence{0, 3, 0, runner->blocks(0)};
    std::stop_source source;
    source.request_stop();
    const auto result = runner->backend().run({.tokens = tokens,
                                               .sequences = {&sequence, 1},
                                               .logit_rows = {},
                                               .stop = source.get_token()});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::cancelled);
    CHECK(value_of(runner->append(tokens)).size() == 512);
}

TEST_CASE("Forward: every thread waits for a layer's weights before it is computed",
          "[backend][quick]") {
    std::mutex mutex;
    std::map<std::thread::id, std::vector<uint32_t>> waits;
    const auto make = [&](const Model& model, const BackendOptions& wanted) {
        BackendOptions options = wanted;
        options.before_layer = [&](uint32_t layer) {
            const std::lock_guard lock(mutex);
            waits[std::this_thread::get_id()].push_back(layer);
        };
        return make_cpu_backend(model, options);
    };
    const auto runner =
        value_of(ModelRunner::open(*find_golden_or_copy("arch/llama_bias/model.gguf"), {}, make));
    const std::vector<int32_t> tokens = {1, 2, 3};
    value_of(runner->append(tokens));
    REQUIRE(waits.size() == 2);
    for (const auto& [thread, layers] : waits)
        CHECK(layers == std::vector<uint32_t>{0, 1, 2, 3});  // three layers and the head
}

TEST_CASE("Forward: values that are not finite are an error that names the layer",
          "[backend][quick]") {
    const auto path = find_golden_or_copy("arch/llama_bias/model.gguf");
    REQUIRE(path);
    expect_nonfinite_is_named(*path);
}

TEST_CASE("CpuBackend: KV and weight bytes follow from the model's dimensions",
          "[backend][quick]") {
    const auto runner =
        open_or_fail(*find_golden_or_copy("arch/llama_bias/model.gguf"), {.context_tokens = 128});
    // 3 layers, 2 KV heads of 8 + 8 dimensions, 64 positions, 4 bytes.
    CHECK(cpu_kv_block_bytes(runner->model().spec(), KvType::f32) == 3 * 2 * 16 * 64 * 4);
    const BackendInfo& info = runner->backend().info();
    CHECK(info.kv_bytes == 2 * cpu_kv_block_bytes(runner->model().spec(), KvType::f32));
    // Each layer: q and output 64 x 64, k and v 64 x 16, three of 64 x 96; head 64 x 512; one row.
    CHECK(info.bytes_per_token ==
          4 * (3 * (2 * 64 * 64 + 2 * 64 * 16 + 3 * 64 * 96) + 64 * 512 + 64));
    CHECK(info.kernels == "reference");
    CHECK(info.device == "CPU reference, 2 threads");
    CHECK(info.num_threads == 2);
}
