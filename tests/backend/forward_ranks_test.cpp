// SPDX-License-Identifier: Apache-2.0
// Models that are split over ranks against the same models in one piece and against the
// references: residual by residual, logits, greedy text; every golden model and weight type.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/golden_cases.h"
#include "support/model_runner.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

/// Folders of golden models that this build runs, sorted by name.
std::vector<fs::path> golden_models(const std::string& relative) {
    std::vector<fs::path> folders;
    const auto folder = find_golden_or_copy(relative);
    if (!folder) return folders;
    for (const auto& entry : fs::directory_iterator(*folder))
        if (ModelRunner::open(entry.path() / "model.gguf", {}).ok())
            folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return folders;
}

float tolerance_of(const fs::path& folder) {
    return read_golden_tolerance(*find_golden_or_copy("arch/tolerance.json"),
                                 folder.filename().string());
}

/// Everything that a step reports, in order.
std::vector<NamedValues> trace_of(ModelRunner& runner, std::span<const int32_t> tokens,
                                  bool stages) {
    std::vector<NamedValues> seen;
    StepTrace trace{.stages = stages,
                    .on_values = [&](const std::string& name, std::span<const float> values) {
                        seen.push_back({name, {values.begin(), values.end()}});
                    }};
    runner.reset();
    value_of(runner.append(tokens, &trace));
    return seen;
}

void check_traces(const std::vector<NamedValues>& split, const std::vector<NamedValues>& whole,
                  double limit) {
    REQUIRE(split.size() == whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
        INFO(whole[i].name);
        REQUIRE(split[i].name == whole[i].name);
        CHECK(relative_error(split[i].values, whole[i].values) <= limit);
    }
}

/// Values that a rounding apart may be: float32 sums of a few hundred terms in another order.
constexpr double kRounding = 2e-5;

/// Greedy text and logits of a golden model that is split.
void check_golden_cases(ModelRunner& runner, const fs::path& folder, float tolerance) {
    const size_t num_vocab = runner.num_vocab();
    for (const GoldenCase& golden : read_golden_cases(folder / "visible.json")) {
        INFO(golden.tokens.size() << " tokens");
        const std::vector<float> logits = value_of(runner.evaluate(golden.tokens, 64));
        REQUIRE(logits.size() == golden.tokens.size() * num_vocab);
        for (size_t i = 0; i < golden.tokens.size(); ++i)
            CHECK(argmax(row_of(logits, i, num_vocab)) == golden.argmax[i]);
        const auto last = row_of(logits, golden.tokens.size() - 1, num_vocab);
        CHECK(max_difference(last, golden.logits_last) <= tolerance);
        CHECK(value_of(runner.greedy(golden.tokens, golden.greedy.size())) == golden.greedy);
    }
}

void check_architectures(bool exact, uint32_t num_ranks) {
    const auto folders = golden_models("arch");
    for (const fs::path& folder : folders) {
        INFO("model " << folder.filename().string() << ", " << num_ranks << " ranks");
        const auto runner =
            open_or_fail(folder / "model.gguf", {.exact = exact, .num_ranks = num_ranks});
        check_golden_cases(*runner, folder, tolerance_of(folder));
    }
    // Some are copied to tests/data, so that a plain clone compares too.
    CHECK(folders.size() >= (find_golden("arch") ? 49 : 2));
}

/// A text of several KV blocks.
std::vector<int32_t> long_text(const fs::path& folder) {
    const auto cases = read_golden_cases(folder / "visible.json");
    std::vector<int32_t> tokens;
    while (tokens.size() < 160)
        tokens.insert(tokens.end(), cases.back().tokens.begin(), cases.back().tokens.end());
    return tokens;
}

}  // namespace

TEST_CASE("Forward: split over 2, 3 and 4 ranks, every residual is that of one rank",
          "[backend][quick][lanes]") {
    for (const fs::path& folder : golden_models("arch")) {
        const GoldenHidden golden = read_golden_hidden(folder / "hidden.json");
        const auto whole = open_or_fail(folder / "model.gguf");
        const auto expected = trace_of(*whole, golden.tokens, false);
        for (const uint32_t num_ranks : {2u, 3u, 4u}) {
            INFO("model " << folder.filename().string() << ", " << num_ranks << " ranks");
            const auto split = open_or_fail(folder / "model.gguf", {.num_ranks = num_ranks});
            const auto seen = trace_of(*split, golden.tokens, false);
            check_traces(seen, expected, kRounding);
            // And that of the reference.
            REQUIRE(seen.size() == golden.values.size());
            for (size_t i = 0; i < seen.size(); ++i) {
                INFO(seen[i].name);
                CHECK(max_difference(seen[i].values, golden.values[i].values) <=
                      tolerance_of(folder));
            }
        }
    }
}

TEST_CASE("Forward: split over 2, 3 and 4 ranks, every stage is that of one rank",
          "[backend][lanes]") {
    for (const fs::path& folder : golden_models("arch")) {
        const auto tokens = read_golden_cases(folder / "visible.json").back().tokens;
        const auto whole = open_or_fail(folder / "model.gguf");
        for (const size_t count : {size_t{1}, tokens.size()}) {
            const auto some = std::span(tokens).first(count);
            const auto expected = trace_of(*whole, some, true);
            for (const uint32_t num_ranks : {2u, 3u, 4u}) {
                INFO("model " << folder.filename().string() << ", " << num_ranks << " ranks");
                const auto split = open_or_fail(folder / "model.gguf", {.num_ranks = num_ranks});
                check_traces(trace_of(*split, some, true), expected, kRounding);
            }
        }
    }
}

TEST_CASE("Forward: split over 2 ranks, tiny models give the reference logits and greedy text",
          "[backend][quick][lanes]") {
    check_architectures(true, 2);
}

TEST_CASE("Forward: split over 3 ranks, tiny models give the reference logits and greedy text",
          "[backend][lanes]") {
    check_architectures(true, 3);
}

TEST_CASE("Forward: split over 4 ranks, tiny models give the reference logits and greedy text",
          "[backend][lanes]") {
    check_architectures(true, 4);
}

TEST_CASE("Forward: split over 2 ranks, the machine's best kernels agree with the reference",
          "[backend][quick][lanes]") {
    check_architectures(false, 2);
}

TEST_CASE("Forward: split over 4 ranks, the machine's best kernels agree with the reference",
          "[backend][lanes]") {
    check_architectures(false, 4);
}

TEST_CASE("Forward: every weight type that divides gives the reference logits over 2 and 4 ranks",
          "[backend][quick][lanes]") {
    const auto peer_file = find_golden_or_copy("quants/models.json");
    if (!peer_file) return report_skip("golden/quants is not there");
    const auto peers = read_golden_peer_differences(*peer_file);
    size_t num_split = 0, num_refused = 0;
    for (const fs::path& folder : golden_models("quants/models")) {
        const std::string name = folder.filename().string();
        for (const uint32_t num_ranks : {2u, 4u}) {
            INFO("model " << name << ", " << num_ranks << " ranks");
            const auto opened = ModelRunner::open(folder / "model.gguf", {.num_ranks = num_ranks});
            if (!opened.ok()) {  // The four heads lie in one block of 256 values, or in two of 128.
                CHECK(opened.error().code == ErrorCode::unsupported);
                CHECK(opened.error().message().find("4 heads of 64 values") != std::string::npos);
                ++num_refused;
                continue;
            }
            ++num_split;
            check_golden_cases(**opened, folder, 5e-4f);
            // llama.cpp rounds activations to 8 bits too; see forward_quants_test.cpp.
            const float limit = 1.5f * peers.at(name) + 1e-4f;
            const auto fast =
                open_or_fail(folder / "model.gguf", {.exact = false, .num_ranks = num_ranks});
            for (const GoldenCase& golden : read_golden_cases(folder / "visible.json")) {
                const size_t last = golden.tokens.size() - 1;
                for (const uint32_t chunk : {1u, 64u}) {
                    const auto logits = value_of(fast->evaluate(golden.tokens, chunk));
                    CHECK(max_difference(row_of(logits, last, fast->num_vocab()),
                                         golden.logits_last) <= limit);
                }
            }
        }
    }
    // Where there is only the copy in tests/data, whose heads lie in one block, it is refused.
    if (find_golden("quants/models")) CHECK(num_split >= 30);
    CHECK(num_refused >= 2);
}

TEST_CASE("Forward: ranks with several lanes, in steps of any size", "[backend][quick]") {
    for (const std::string name : {"gemma3_w16", "qwen2moe", "olmo3"}) {
        const auto path = find_golden_or_copy("arch/" + name);
        if (!path) continue;  // the two of tests/data are always there
        std::vector<int32_t> tokens = long_text(*path);
        tokens.resize(100);  // two blocks
        const auto whole = open_or_fail(*path / "model.gguf", {.max_step_logits = 256});
        const auto expected = value_of(whole->evaluate(tokens, 256));
        for (const auto& [num_ranks, num_threads] : {std::pair{2u, 4u}, {3u, 5u}, {4u, 1u}}) {
            INFO("model " << name << ", " << num_ranks << " ranks, " << num_threads << " threads");
            const auto split = open_or_fail(
                *path / "model.gguf",
                {.num_threads = num_threads, .num_ranks = num_ranks, .max_step_logits = 256});
            CHECK(split->backend().info().num_threads ==
                  num_ranks * std::max(num_threads / num_ranks, 1u));
            const auto logits = value_of(split->evaluate(tokens, 256));
            // One row a step is slow with more threads than cores: each meeting waits for all.
            const uint32_t least = num_ranks == 2 ? 1 : 7;
            for (uint32_t chunk = least; chunk <= 64; chunk *= 8)
                CHECK(max_difference(value_of(split->evaluate(tokens, chunk)), expected) <= 2e-4f);
            // The order of sums does not depend on who is first.
            CHECK(value_of(split->evaluate(tokens, 256)) == logits);
        }
    }
}

TEST_CASE("Forward: sequences side by side and copied blocks, split over 2 ranks",
          "[backend][quick]") {
    const auto path = *find_golden_or_copy("arch/gemma3_w16");
    const std::vector<int32_t> text = long_text(path);
    const std::span<const int32_t> all(text);
    const auto runner = open_or_fail(path / "model.gguf", {.num_sequences = 2, .num_ranks = 2});
    const auto alone = value_of(runner->append(all.first(70)));
    const auto second = value_of(runner->evaluate(all.subspan(30, 5), 64));

    const std::vector<StepSequence> sequences = {{0, 70, 0, runner->blocks(0)},
                                                 {70, 5, 0, runner->blocks(1)}};
    std::vector<int32_t> tokens(all.begin(), all.begin() + 70);
    tokens.insert(tokens.end(), all.begin() + 30, all.begin() + 35);
    const std::vector<uint32_t> rows = {69, 74};
    const auto together = value_of(
        runner->backend().run({.tokens = tokens, .sequences = sequences, .logit_rows = rows}));
    const size_t num_vocab = runner->num_vocab();
    REQUIRE(together.size() == 2 * num_vocab);
    CHECK(max_difference(row_of(together, 0, num_vocab), alone) <= 1e-4f);
    CHECK(max_difference(row_of(together, 1, num_vocab), row_of(second, 4, num_vocab)) <= 1e-4f);

    // A copied block has the keys and values of all ranks.
    runner->backend().copy_block(runner->blocks(0)[0], runner->blocks(1)[0]);
    const uint32_t row = 0;
    const auto continued = [&](uint32_t sequence) {
        const StepSequence slice{0, 1, 40, runner->blocks(sequence)};
        const auto logits = value_of(runner->backend().run(
            {.tokens = all.subspan(40, 1), .sequences = {&slice, 1}, .logit_rows = {&row, 1}}));
        return std::vector<float>(logits.begin(), logits.end());
    };
    CHECK(continued(1) == continued(0));
}

TEST_CASE("Forward: a stop request cancels all ranks of a step", "[backend][quick]") {
    const auto runner =
        open_or_fail(*find_golden_or_copy("arch/llama_bias/model.gguf"), {.num_ranks = 2});
    const std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6, 7};
    const auto whole = value_of(runner->evaluate(tokens, 64));
    for (const size_t count : {size_t{1}, tokens.size()}) {
        for (const std::string at : {"embed", "layer0", "layer1"}) {
            // The request comes while the step runs, on the thread that reports.
            std::stop_source source;
            std::vector<std::string> seen;
            StepTrace trace{.on_values = [&](const std::string& name, std::span<const float>) {
                seen.push_back(name);
                if (name == at) source.request_stop();
            }};
            const StepSequence sequence{0, static_cast<uint32_t>(count), 0, runner->blocks(0)};
            const auto result = runner->backend().run({.tokens = std::span(tokens).first(count),
                                                       .sequences = {&sequence, 1},
                                                       .logit_rows = {},
                                                       .trace = &trace,
                                                       .stop = source.get_token()});
            REQUIRE_FALSE(result.ok());
            CHECK(result.error().code == ErrorCode::cancelled);
            CHECK(seen.back() == at);
        }
    }
    CHECK(value_of(runner->evaluate(tokens, 64)) == whole);
}

TEST_CASE("Forward: values that are not finite on one rank name the layer", "[backend][quick]") {
    const auto path = find_golden_or_copy("arch/llama_bias/model.gguf");
    REQUIRE(path);
    for (const uint32_t num_ranks : {2u, 4u})
        expect_nonfinite_is_named(*path, {.num_ranks = num_ranks});
}

TEST_CASE("CpuBackend: each rank binds its part, and KV heads that are replicated count again",
          "[backend][quick]") {
    const auto path = *find_golden_or_copy("arch/llama_bias/model.gguf");
    const auto whole = open_or_fail(path, {.context_tokens = 128});
    const BackendInfo& one = whole->backend().info();
    REQUIRE(one.rank_weight_bytes.size() == 1);
    for (const uint32_t num_ranks : {2u, 4u}) {
        const auto runner =
            open_or_fail(path, {.num_threads = 4, .context_tokens = 128, .num_ranks = num_ranks});
        const BackendInfo& info = runner->backend().info();
        CHECK(info.device == fmt::format("CPU reference, {} ranks, 4 threads", num_ranks));
        CHECK(info.num_threads == 4);
        CHECK(info.rank_weight_bytes.size() == num_ranks);
        uint64_t sum = 0;
        for (const uint64_t bytes : info.rank_weight_bytes) {
            CHECK(bytes < one.rank_weight_bytes[0] * 3 / 4);
            sum += bytes;
        }
        CHECK(sum > one.rank_weight_bytes[0]);
        // Two KV heads: two ranks have one each, four have them twice.
        CHECK(info.kv_bytes == one.kv_bytes * num_ranks / 2);
    }
}

TEST_CASE("CpuBackend: a split that is not possible is refused before anything runs",
          "[backend][quick]") {
    const auto path = *find_golden_or_copy("arch/llama_bias/model.gguf");
    const auto nine = ModelRunner::open(path, {.num_ranks = 9});
    REQUIRE_FALSE(nine.ok());
    CHECK(nine.error().code == ErrorCode::unsupported);
    CHECK(nine.error().message().find("9 ranks") != std::string::npos);
    CHECK(nine.error().message().find("8 heads") != std::string::npos);
    for (const uint32_t num_ranks : {0u, kMaxRanks + 1}) {
        const auto refused = ModelRunner::open(path, {.num_ranks = num_ranks});
        REQUIRE_FALSE(refused.ok());
        CHECK(refused.error().code == ErrorCode::bad_argument);
    }
}

namespace {

/// A real model over ranks: residuals of one rank (exact), then greedy text against the reference
/// (default kernels, which may leave it only where its margin is small).
void check_real(const std::string& name) {
    const auto model = find_model(name);
    const auto golden = find_golden("real/" + name);
    if (!model) return report_skip(fmt::format("the model {} is not downloaded", name));
    if (!golden) return report_skip("golden/real is not there");
    const auto cases = read_golden_cases(*golden / "visible.json");
    {
        const auto tokens = read_golden_stages(*golden / "stages.json").tokens;
        const auto whole = open_or_fail(*model, {.context_tokens = 64});
        const auto expected = trace_of(*whole, tokens, true);
        for (const uint32_t num_ranks : {2u, 3u, 4u}) {
            INFO(name << ", " << num_ranks << " ranks");
            const auto split = open_or_fail(*model, {.context_tokens = 64, .num_ranks = num_ranks});
            check_traces(trace_of(*split, tokens, true), expected, 1e-4);
        }
    }
    for (const uint32_t num_ranks : {2u, 4u}) {
        const auto split =
            open_or_fail(*model, {.exact = false, .context_tokens = 1024, .num_ranks = num_ranks});
        for (const GoldenCase& one : cases) {
            INFO(name << ", " << num_ranks << " ranks, " << one.name);
            const size_t count = std::min<size_t>(one.greedy.size(), 24);
            const auto text = value_of(split->greedy(one.tokens, count));
            const auto different = std::mismatch(text.begin(), text.end(), one.greedy.begin());
            const auto num_equal = static_cast<size_t>(different.first - text.begin());
            if (num_equal < count) CHECK(one.greedy_margin[num_equal] <= 0.5f);
        }
    }
}

}  // namespace

TEST_CASE("Forward: SmolLM2 over 2, 3 and 4 ranks is SmolLM2", "[backend][model]") {
    check_real("smollm2");
}
TEST_CASE("Forward: Qwen2.5 over 2, 3 and 4 ranks is Qwen2.5", "[backend][model]") {
    check_real("qwen2");
}
TEST_CASE("Forward: Gemma 3 over 2, 3 and 4 ranks is Gemma 3", "[backend][model]") {
    check_real("gemma3");
}
