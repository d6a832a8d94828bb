// SPDX-License-Identifier: Apache-2.0
// The CUDA backend end to end against the figures that the CPU backend is held to: logits within
// the same limits, the same greedy text, the same stages, KV blocks that come and go.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cuda/support/cuda_runner.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/golden_cases.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<ModelRunner> gpu_or_fail(const fs::path& path,
                                         const ModelRunner::Options& options = {}) {
    return value_of(open_on_gpu(path, options));
}

/// A golden model of float32 weights: every case to the CPU's tolerance, greedy text by identity.
void check_arch(const std::string& name, size_t max_tokens) {
    const auto folder = find_golden_or_copy("arch/" + name);
    if (!folder) return report_skip("golden/arch/" + name + " is not there");
    INFO("model " << name);
    const float tolerance =
        read_golden_tolerance(*find_golden_or_copy("arch/tolerance.json"), name);
    const auto runner = gpu_or_fail(*folder / "model.gguf", {.context_tokens = 192});
    const size_t num_vocab = runner->num_vocab();
    for (const GoldenCase& golden : read_golden_cases(*folder / "visible.json")) {
        if (golden.tokens.size() > max_tokens) continue;
        INFO(golden.tokens.size() << " tokens");
        const std::vector<float> logits = value_of(runner->evaluate(golden.tokens, 64));
        for (size_t i = 0; i < golden.tokens.size(); ++i)
            CHECK(argmax(row_of(logits, i, num_vocab)) == golden.argmax[i]);
        const auto last = row_of(logits, golden.tokens.size() - 1, num_vocab);
        CHECK(max_difference(last, golden.logits_last) <= tolerance);
        // A piece of the text, as emulation takes its time; in full on a GPU.
        const size_t most = golden.tokens.size() == 9 ? 10 : 3;
        auto greedy = std::span(golden.greedy);
        if (is_test_gpu_emulated()) greedy = greedy.first(std::min(most, greedy.size()));
        const auto text = value_of(runner->greedy(golden.tokens, greedy.size()));
        CHECK(std::equal(text.begin(), text.end(), greedy.begin(), greedy.end()));
    }
}

}  // namespace

// Short ones for the inner loop, all of them whole beside it.
#define HOKKU_ARCH_TEST(name)                                                                    \
    TEST_CASE("CUDA backend: " name " of float32 weights gives the reference's logits and text", \
              "[cuda]") {                                                                        \
        check_arch(name, 64);                                                                    \
    }
HOKKU_ARCH_TEST("llama")
HOKKU_ARCH_TEST("gemma2")
HOKKU_ARCH_TEST("gpt2")
HOKKU_ARCH_TEST("llama_tied_hd")
HOKKU_ARCH_TEST("llama_bias")
HOKKU_ARCH_TEST("llama31")
HOKKU_ARCH_TEST("llama_linear")
HOKKU_ARCH_TEST("llama_yarn")
HOKKU_ARCH_TEST("mistral")
HOKKU_ARCH_TEST("qwen2")
HOKKU_ARCH_TEST("qwen2_tied")
HOKKU_ARCH_TEST("qwen2_yarn")
HOKKU_ARCH_TEST("qwen3")
HOKKU_ARCH_TEST("gemma")
HOKKU_ARCH_TEST("gemma3")
HOKKU_ARCH_TEST("gemma3_w16")
HOKKU_ARCH_TEST("phi3")
HOKKU_ARCH_TEST("phi3_longrope_short")
HOKKU_ARCH_TEST("phi3_longrope_long")
HOKKU_ARCH_TEST("granite")
HOKKU_ARCH_TEST("olmo2")
HOKKU_ARCH_TEST("olmo3")
HOKKU_ARCH_TEST("smollm3")
HOKKU_ARCH_TEST("mistral3")
HOKKU_ARCH_TEST("phi2")
HOKKU_ARCH_TEST("glm4")
HOKKU_ARCH_TEST("cohere")
HOKKU_ARCH_TEST("cohere2")
HOKKU_ARCH_TEST("ernie45")
HOKKU_ARCH_TEST("exaone4")
HOKKU_ARCH_TEST("exaone4_full")
HOKKU_ARCH_TEST("seed_oss")
HOKKU_ARCH_TEST("hunyuan")
HOKKU_ARCH_TEST("arcee")
HOKKU_ARCH_TEST("nemotron")
HOKKU_ARCH_TEST("starcoder2")
HOKKU_ARCH_TEST("stablelm")
HOKKU_ARCH_TEST("stablelm_par")
HOKKU_ARCH_TEST("gptneox")
HOKKU_ARCH_TEST("gptneox_seq")

TEST_CASE("CUDA backend: three architectures give the reference's logits and text at once",
          "[cuda][quick]") {
    for (const char* name : {"llama", "gemma2", "gpt2"}) check_arch(name, 1);
}

namespace {

/// A quantised golden model: as close to the reference as the CPU's kernels have to be, which is
/// half as much again as llama.cpp, and the text of the CPU.
void check_quants(const std::string& name) {
    const auto folder = find_golden_or_copy("quants/models");
    const auto peer_file = find_golden_or_copy("quants/models.json");
    if (!folder || !peer_file || !fs::exists(*folder / name)) {
        return report_skip("golden/quants/models/" + name + " is not there");
    }
    INFO("model " << name);
    const float limit = 1.5f * read_golden_peer_differences(*peer_file).at(name) + 1e-4f;
    const fs::path path = *folder / name / "model.gguf";
    const auto gpu = gpu_or_fail(path, {.context_tokens = 128});
    const auto cpu = open_or_fail(path);
    const size_t num_vocab = gpu->num_vocab();
    for (const GoldenCase& golden : read_golden_cases(*folder / name / "visible.json")) {
        const size_t last = golden.tokens.size() - 1;
        const auto logits = value_of(gpu->evaluate(golden.tokens, 64));
        CHECK(max_difference(row_of(logits, last, num_vocab), golden.logits_last) <= limit);
        // What is decoded rounds as what is evaluated at once.
        CHECK(value_of(gpu->evaluate(golden.tokens, 1)) == logits);
        // The CPU's text, followed wherever its first choice leads by more than both may be off.
        const auto text = value_of(cpu->greedy(golden.tokens, 8));
        std::vector<int32_t> tokens = golden.tokens;
        tokens.insert(tokens.end(), text.begin(), text.end() - 1);
        const auto on_gpu = value_of(gpu->evaluate(tokens, 64));
        const auto on_cpu = value_of(cpu->evaluate(tokens, 64));
        for (size_t i = 0; i < tokens.size(); ++i) {
            std::vector<float> row(row_of(on_cpu, i, num_vocab).begin(),
                                   row_of(on_cpu, i, num_vocab).end());
            const int32_t best = argmax(row);
            std::nth_element(row.begin(), row.begin() + 1, row.end(), std::greater<>());
            const float margin = row[0] - row[1];
            if (margin > 2 * limit) CHECK(argmax(row_of(on_gpu, i, num_vocab)) == best);
        }
    }
}

}  // namespace

#define HOKKU_QUANTS_TEST(name)                                                              \
    TEST_CASE("CUDA backend: " name " is as close to the reference as a peer's", "[cuda]") { \
        check_quants(name);                                                                  \
    }
HOKKU_QUANTS_TEST("llama256-F32")
HOKKU_QUANTS_TEST("llama256-F16")
HOKKU_QUANTS_TEST("llama256-BF16")
HOKKU_QUANTS_TEST("llama256-Q2_K")
HOKKU_QUANTS_TEST("llama256-Q2_K_S")
HOKKU_QUANTS_TEST("llama256-Q3_K_S")
HOKKU_QUANTS_TEST("llama256-Q3_K_M")
HOKKU_QUANTS_TEST("llama256-Q3_K_L")
HOKKU_QUANTS_TEST("llama256-Q4_0")
HOKKU_QUANTS_TEST("llama256-Q4_1")
HOKKU_QUANTS_TEST("llama256-Q4_K_S")
HOKKU_QUANTS_TEST("llama256-Q4_K_M")
HOKKU_QUANTS_TEST("llama256-Q5_0")
HOKKU_QUANTS_TEST("llama256-Q5_1")
HOKKU_QUANTS_TEST("llama256-Q5_K_S")
HOKKU_QUANTS_TEST("llama256-Q5_K_M")
HOKKU_QUANTS_TEST("llama256-Q6_K")
HOKKU_QUANTS_TEST("llama256-Q8_0")
HOKKU_QUANTS_TEST("llama256-IQ4_NL")
HOKKU_QUANTS_TEST("llama256-IQ4_XS")
HOKKU_QUANTS_TEST("llama256-MXFP4")
HOKKU_QUANTS_TEST("qwen2_256-F32")
HOKKU_QUANTS_TEST("qwen2_256-F16")
HOKKU_QUANTS_TEST("qwen2_256-BF16")
HOKKU_QUANTS_TEST("qwen2_256-Q2_K")
HOKKU_QUANTS_TEST("qwen2_256-Q2_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q3_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q3_K_M")
HOKKU_QUANTS_TEST("qwen2_256-Q3_K_L")
HOKKU_QUANTS_TEST("qwen2_256-Q4_0")
HOKKU_QUANTS_TEST("qwen2_256-Q4_1")
HOKKU_QUANTS_TEST("qwen2_256-Q4_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q4_K_M")
HOKKU_QUANTS_TEST("qwen2_256-Q5_0")
HOKKU_QUANTS_TEST("qwen2_256-Q5_1")
HOKKU_QUANTS_TEST("qwen2_256-Q5_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q5_K_M")
HOKKU_QUANTS_TEST("qwen2_256-Q6_K")
HOKKU_QUANTS_TEST("qwen2_256-Q8_0")
HOKKU_QUANTS_TEST("qwen2_256-IQ4_NL")
HOKKU_QUANTS_TEST("qwen2_256-IQ4_XS")
HOKKU_QUANTS_TEST("qwen2_256-MXFP4")
