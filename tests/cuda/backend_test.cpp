// SPDX-License-Identifier: Apache-2.0
// The CUDA backend end to end against the figures that the CPU backend is held to: logits within
// the same limits, the same greedy text, the same stages, KV blocks that come and go.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cuda/support/cuda_runner.h"
#include "cuda/support/kv_checks.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/golden_cases.h"
#include "support/synthetic_model.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<ModelRunner> gpu_or_fail(const fs::path& path,
                                         const ModelRunner::Options& options = {}) {
    return value_of(open_on_gpu(path, options));
}

std::vector<int32_t> counted(int32_t count) {
    std::vector<int32_t> tokens(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) tokens[static_cast<size_t>(i)] = i * 7 % 250;
    return tokens;
}

/// A golden model of float32 weights: every case to the CPU's tolerance, greedy text by identity.
/// So many of its layers stay on the CPU.
void check_arch(const std::string& name, size_t max_tokens, uint32_t num_cpu_layers = 0) {
    const auto folder = find_golden_or_copy("arch/" + name);
    if (!folder) return report_skip("golden/arch/" + name + " is not there");
    INFO("model " << name);
    const float tolerance =
        read_golden_tolerance(*find_golden_or_copy("arch/tolerance.json"), name);
    const fs::path path = *folder / "model.gguf";
    const ModelRunner::Options options{.context_tokens = 192};
    const auto runner = num_cpu_layers == 0 ? gpu_or_fail(path, options)
                                            : value_of(open_split(path, num_cpu_layers, options));
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
HOKKU_ARCH_TEST("apertus")
HOKKU_ARCH_TEST("mixtral")
HOKKU_ARCH_TEST("qwen2moe")
HOKKU_ARCH_TEST("qwen3moe")
HOKKU_ARCH_TEST("granitemoe")
HOKKU_ARCH_TEST("olmoe")
HOKKU_ARCH_TEST("gptoss")
HOKKU_ARCH_TEST("glm4moe")
HOKKU_ARCH_TEST("ernie45moe")

TEST_CASE("CUDA backend: three architectures give the reference's logits and text at once",
          "[cuda][quick]") {
    for (const char* name : {"llama", "gemma2", "gpt2"}) check_arch(name, 1);
}

namespace {

/// Contexts of halves and codes against the CPU's of the same type, as prompts and as a few rows at
/// a time: windows, caps and sinks go to other kernels there.
void check_context_types(const std::string& name) {
    const auto folder = find_golden_or_copy("arch/" + name);
    if (!folder) return report_skip("golden/arch/" + name + " is not there");
    INFO("model " << name);
    for (const KvType type : {KvType::f16, KvType::q8_0}) {
        INFO(kv_type_name(type));
        const ModelRunner::Options options{.context_tokens = 192, .kv_type = type};
        const auto gpu = gpu_or_fail(*folder / "model.gguf", options);
        const auto cpu = open_or_fail(*folder / "model.gguf", options);
        std::vector<int32_t> tokens(50);
        for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 90 + 3);
        const auto expected = value_of(cpu->evaluate(tokens, 64));
        const double limit = type == KvType::f16 ? 3e-3 : 3e-2;
        CHECK(relative_error(value_of(gpu->evaluate(tokens, 64)), expected) < limit);
        CHECK(relative_error(value_of(gpu->evaluate(tokens, 8)), expected) < limit);
    }
}

/// Contexts of several KV blocks, so that windows begin in a block behind the first.
void check_long_context(const std::string& name) {
    const auto folder = find_golden_or_copy("arch/" + name);
    if (!folder) return report_skip("golden/arch/" + name + " is not there");
    INFO("model " << name);
    const ModelRunner::Options options{.context_tokens = 192, .kv_type = KvType::f16};
    const auto gpu = gpu_or_fail(*folder / "model.gguf", options);
    const auto cpu = open_or_fail(*folder / "model.gguf", options);
    std::vector<int32_t> tokens(150);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 90 + 3);
    const auto expected = value_of(cpu->evaluate(tokens, 64));
    CHECK(relative_error(value_of(gpu->evaluate(tokens, 64)), expected) < 3e-3);
    CHECK(relative_error(value_of(gpu->evaluate(tokens, 8)), expected) < 3e-3);
}

/// A quantised golden model: as close to the reference as the CPU's kernels have to be, which is
/// half as much again as llama.cpp, and the text of the CPU.
void check_quants(const std::string& name, uint32_t num_cpu_layers = 0) {
    const auto folder = find_golden_or_copy("quants/models");
    const auto peer_file = find_golden_or_copy("quants/models.json");
    if (!folder || !peer_file || !fs::exists(*folder / name)) {
        return report_skip("golden/quants/models/" + name + " is not there");
    }
    INFO("model " << name);
    const float limit = 1.5f * read_golden_peer_differences(*peer_file).at(name) + 1e-4f;
    const fs::path path = *folder / name / "model.gguf";
    const auto gpu =
        num_cpu_layers == 0
            ? gpu_or_fail(path, {.context_tokens = 128})
            : value_of(open_split(path, num_cpu_layers, {.exact = false, .context_tokens = 128}));
    const auto cpu = open_or_fail(path);
    const size_t num_vocab = gpu->num_vocab();
    size_t num_compared = 0, num_positions = 0;
    for (const GoldenCase& golden : read_golden_cases(*folder / name / "visible.json")) {
        const size_t last = golden.tokens.size() - 1;
        const auto logits = value_of(gpu->evaluate(golden.tokens, 64));
        CHECK(max_difference(row_of(logits, last, num_vocab), golden.logits_last) <= limit);
        // What is decoded one by one rounds as a few at once.
        const auto decoded = value_of(gpu->evaluate(golden.tokens, 1));
        CHECK((value_of(gpu->evaluate(golden.tokens, kDecodeRows)) == decoded));
        CHECK(max_difference(row_of(decoded, last, num_vocab), golden.logits_last) <= limit);
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
            ++num_positions;
            if (margin <= 2 * limit) continue;
            ++num_compared;
            CHECK(argmax(row_of(on_gpu, i, num_vocab)) == best);
        }
    }
    INFO(num_compared << " first choices of " << num_positions << " compared");
    CHECK(num_compared > 0);
}

}  // namespace

TEST_CASE("CUDA backend: contexts of f16 and q8_0 of ten architectures", "[cuda]") {
    for (const char* name : {"gemma2", "gemma3_w16", "gptoss", "phi3", "cohere2", "stablelm",
                             "qwen2moe", "olmo3", "gpt2", "mistral3"})
        check_context_types(name);
}

TEST_CASE("CUDA backend: windows of three architectures beyond a block of the context", "[cuda]") {
    for (const char* name : {"gemma3_w16", "gptoss", "cohere2"}) check_long_context(name);
}

#define HOKKU_QUANTS_TEST(name)                                                              \
    TEST_CASE("CUDA backend: " name " is as close to the reference as a peer's", "[cuda]") { \
        check_quants(name);                                                                  \
    }
HOKKU_QUANTS_TEST("gptoss-MXFP4_MOE")
HOKKU_QUANTS_TEST("llama256-BF16")
HOKKU_QUANTS_TEST("llama256-F16")
HOKKU_QUANTS_TEST("llama256-F32")
HOKKU_QUANTS_TEST("llama256-IQ1_M")
HOKKU_QUANTS_TEST("llama256-IQ1_S")
HOKKU_QUANTS_TEST("llama256-IQ2_M")
HOKKU_QUANTS_TEST("llama256-IQ2_S")
HOKKU_QUANTS_TEST("llama256-IQ2_XS")
HOKKU_QUANTS_TEST("llama256-IQ2_XXS")
HOKKU_QUANTS_TEST("llama256-IQ3_M")
HOKKU_QUANTS_TEST("llama256-IQ3_S")
HOKKU_QUANTS_TEST("llama256-IQ3_XS")
HOKKU_QUANTS_TEST("llama256-IQ3_XXS")
HOKKU_QUANTS_TEST("llama256-IQ4_NL")
HOKKU_QUANTS_TEST("llama256-IQ4_XS")
HOKKU_QUANTS_TEST("llama256-MXFP4")
HOKKU_QUANTS_TEST("llama256-NVFP4")
HOKKU_QUANTS_TEST("llama256-Q1_0")
HOKKU_QUANTS_TEST("llama256-Q2_0")
HOKKU_QUANTS_TEST("llama256-Q2_K")
HOKKU_QUANTS_TEST("llama256-Q2_K_S")
HOKKU_QUANTS_TEST("llama256-Q3_K_L")
HOKKU_QUANTS_TEST("llama256-Q3_K_M")
HOKKU_QUANTS_TEST("llama256-Q3_K_S")
HOKKU_QUANTS_TEST("llama256-Q4_0")
HOKKU_QUANTS_TEST("llama256-Q4_1")
HOKKU_QUANTS_TEST("llama256-Q4_K_M")
HOKKU_QUANTS_TEST("llama256-Q4_K_S")
HOKKU_QUANTS_TEST("llama256-Q5_0")
HOKKU_QUANTS_TEST("llama256-Q5_1")
HOKKU_QUANTS_TEST("llama256-Q5_K_M")
HOKKU_QUANTS_TEST("llama256-Q5_K_S")
HOKKU_QUANTS_TEST("llama256-Q6_K")
HOKKU_QUANTS_TEST("llama256-Q8_0")
HOKKU_QUANTS_TEST("llama256-TQ1_0")
HOKKU_QUANTS_TEST("llama256-TQ2_0")
HOKKU_QUANTS_TEST("qwen2_256-BF16")
HOKKU_QUANTS_TEST("qwen2_256-F16")
HOKKU_QUANTS_TEST("qwen2_256-F32")
HOKKU_QUANTS_TEST("qwen2_256-IQ1_M")
HOKKU_QUANTS_TEST("qwen2_256-IQ1_S")
HOKKU_QUANTS_TEST("qwen2_256-IQ2_M")
HOKKU_QUANTS_TEST("qwen2_256-IQ2_S")
HOKKU_QUANTS_TEST("qwen2_256-IQ2_XS")
HOKKU_QUANTS_TEST("qwen2_256-IQ2_XXS")
HOKKU_QUANTS_TEST("qwen2_256-IQ3_M")
HOKKU_QUANTS_TEST("qwen2_256-IQ3_S")
HOKKU_QUANTS_TEST("qwen2_256-IQ3_XS")
HOKKU_QUANTS_TEST("qwen2_256-IQ3_XXS")
HOKKU_QUANTS_TEST("qwen2_256-IQ4_NL")
HOKKU_QUANTS_TEST("qwen2_256-IQ4_XS")
HOKKU_QUANTS_TEST("qwen2_256-MXFP4")
HOKKU_QUANTS_TEST("qwen2_256-NVFP4")
HOKKU_QUANTS_TEST("qwen2_256-Q1_0")
HOKKU_QUANTS_TEST("qwen2_256-Q2_0")
HOKKU_QUANTS_TEST("qwen2_256-Q2_K")
HOKKU_QUANTS_TEST("qwen2_256-Q2_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q3_K_L")
HOKKU_QUANTS_TEST("qwen2_256-Q3_K_M")
HOKKU_QUANTS_TEST("qwen2_256-Q3_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q4_0")
HOKKU_QUANTS_TEST("qwen2_256-Q4_1")
HOKKU_QUANTS_TEST("qwen2_256-Q4_K_M")
HOKKU_QUANTS_TEST("qwen2_256-Q4_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q5_0")
HOKKU_QUANTS_TEST("qwen2_256-Q5_1")
HOKKU_QUANTS_TEST("qwen2_256-Q5_K_M")
HOKKU_QUANTS_TEST("qwen2_256-Q5_K_S")
HOKKU_QUANTS_TEST("qwen2_256-Q6_K")
HOKKU_QUANTS_TEST("qwen2_256-Q8_0")
HOKKU_QUANTS_TEST("qwen2_256-TQ1_0")
HOKKU_QUANTS_TEST("qwen2_256-TQ2_0")

// ---- layers that stay on the CPU ---------------------------------------------------------------

TEST_CASE("CUDA backend: with a layer on the CPU architectures give the reference's text",
          "[cuda]") {
    for (const char* name : {"llama", "gemma2", "gpt2", "qwen2", "phi2", "gptoss", "mixtral",
                             "gemma3_w16", "olmo2", "cohere2", "llama_tied_hd", "granite"})
        check_arch(name, 64, 1);
}

TEST_CASE("CUDA backend: with a layer on the CPU quantised models are as close as a peer's",
          "[cuda]") {
    for (const char* name :
         {"llama256-Q4_K_M", "llama256-Q8_0", "llama256-F16", "llama256-Q6_K", "llama256-IQ2_XS",
          "qwen2_256-Q4_0", "qwen2_256-Q5_K_M", "qwen2_256-BF16", "qwen2_256-IQ4_XS"})
        check_quants(name, 1);
}

TEST_CASE("CUDA backend: a model cut behind any layer writes the text of the whole", "[cuda]") {
    const ScratchFolder folder;
    const fs::path path = folder / "model.gguf";
    write_synthetic_model(path, {.num_layers = 4, .num_vocab = 256});
    const ModelRunner::Options options{.exact = false, .context_tokens = 192};
    const auto cpu = open_or_fail(path, options);
    const std::vector<int32_t> tokens = counted(21);
    const auto expected = value_of(cpu->evaluate(tokens, 64));
    struct Cut {
        uint32_t num_front;
        std::vector<uint32_t> cuts;
        const char* device;
    };
    const Cut all[] = {{1, {}, ", 3 of 4 layers; the others on CPU"},
                       {2, {}, ", 2 of 4 layers; the others on CPU"},
                       {3, {}, ", 1 of 4 layers; the others on CPU"},
                       {0, {1}, ", 3 layers"},
                       {0, {1, 3}, ", 2 layers; GPU "},
                       {1, {3}, ", 2 of 4 layers; GPU "}};
    for (const Cut& cut : all) {
        INFO(cut.num_front << " layers in front" << cut.device);
        const auto split = value_of(open_split(path, cut.num_front, options, cut.cuts));
        CHECK(split->backend().info().device.find(cut.device) != std::string::npos);
        CHECK(relative_error(value_of(split->evaluate(tokens, 64)), expected) < 2e-4);
        CHECK(relative_error(value_of(split->evaluate(tokens, 3)), expected) < 2e-4);
        CHECK(value_of(split->greedy(tokens, 6)) == value_of(cpu->greedy(tokens, 6)));
        // Blocks leave and come back as the CPU's, and pools grow on both sides.
        Backend& backend = split->backend();
        check_moved_block(backend, *cpu, 26, 2e-4);
        CHECK(backend.growth_blocks(uint64_t{1} << 40).value() > 7);
    }
}

// ---- shapes, blocks, traces, errors ------------------------------------------------------------

namespace {

/// Logits and text of float32 weights, which both backends compute without rounding to codes.
void check_synthetic(const SyntheticShape& shape) {
    const ScratchFolder folder;
    const fs::path path = folder / "model.gguf";
    write_synthetic_model(path, shape);
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 20; ++i) tokens.push_back(i * 37 % 200);
    for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
        INFO(kv_type_name(type));
        const ModelRunner::Options options{.context_tokens = 192, .kv_type = type};
        const auto gpu = gpu_or_fail(path, options);
        const auto cpu = open_or_fail(path, options);
        const auto expected = value_of(cpu->evaluate(tokens, 64));
        // Sums of float32 in another order, through two layers and a softmax of large logits;
        // and of halves one that is rounded the other way here and there.
        const double limit = type == KvType::f32 ? 2e-4 : type == KvType::f16 ? 2e-3 : 1e-2;
        CHECK(relative_error(value_of(gpu->evaluate(tokens, 64)), expected) < limit);
        CHECK(relative_error(value_of(gpu->evaluate(tokens, 8)), expected) < limit);
        CHECK(value_of(gpu->greedy(tokens, 4)) == value_of(cpu->greedy(tokens, 4)));
    }
}

const fs::path& tiny_model() {
    static const ScratchFolder folder;
    static const fs::path path = [] {
        const fs::path file = folder / "tiny.gguf";
        make_tiny_llama().write(file);
        return file;
    }();
    return path;
}

}  // namespace

TEST_CASE("CUDA backend: heads of 64, three for each key, keys with biases of 175", "[cuda]") {
    check_synthetic({.architecture = "qwen2",
                     .dim = 192,
                     .num_heads = 6,
                     .num_kv_heads = 2,
                     .head_dim = 64,
                     .hidden = 256,
                     .num_vocab = 256,
                     .key_bias = 175});
}

TEST_CASE("CUDA backend: heads of 128, seven for each key, norms of heads", "[cuda]") {
    check_synthetic({.architecture = "qwen3",
                     .dim = 128,
                     .num_heads = 7,
                     .num_kv_heads = 1,
                     .head_dim = 128,
                     .hidden = 96,
                     .num_vocab = 256});
}

TEST_CASE("CUDA backend: one huge channel of keys in a context of codes", "[cuda][quick]") {
    const ScratchFolder folder;
    const fs::path path = folder / "model.gguf";
    GgufWriter writer = make_tiny_llama();
    std::vector<float> bias(size_t{TinyLlama::kKvHeads} * TinyLlama::kHeadDim, 0.0f);
    bias[3] = 150;
    for (uint32_t i = 0; i < TinyLlama::kLayers; ++i)
        writer.add_f32("blk." + std::to_string(i) + ".attn_k.bias", {bias.size()}, bias);
    writer.write(path);
    const ModelRunner::Options options{.context_tokens = 128, .kv_type = KvType::q8_0};
    const auto gpu = gpu_or_fail(path, options);
    const auto cpu = open_or_fail(path, options);
    const std::vector<int32_t> tokens = counted(70);
    const auto expected = value_of(cpu->evaluate(tokens, 64));
    // Both choose the same scales and codes, but where float32 sums end between two codes: one step
    // of a 127th of the channel in a key of thousands.
    CHECK(relative_error(value_of(gpu->evaluate(tokens, 64)), expected) < 5e-3);
    CHECK(relative_error(value_of(gpu->evaluate(tokens, 8)), expected) < 5e-3);
    // What the codes themselves cost is far more, else the channel would not be huge.
    const auto exact = open_or_fail(path, {.context_tokens = 128});
    CHECK(relative_error(expected, value_of(exact->evaluate(tokens, 64))) > 0.1);
}

TEST_CASE("CUDA backend: more than eight heads for each key", "[cuda]") {
    check_synthetic({.dim = 64,
                     .num_heads = 20,
                     .num_kv_heads = 1,
                     .head_dim = 16,
                     .hidden = 64,
                     .num_vocab = 256,
                     .is_tied = true});
}

namespace {

/// Logits of a prompt with the library against those without it and the CPU's.
void check_library(TensorType type, double limit) {
    INFO(traits_of(type).name);
    const ScratchFolder folder;
    const fs::path path = folder / "model.gguf";
    // Biases, and more columns than rows and the other way round.
    write_synthetic_model(path, {.architecture = "qwen2",
                                 .num_layers = 2,
                                 .dim = 96,
                                 .num_heads = 6,
                                 .num_kv_heads = 2,
                                 .head_dim = 32,
                                 .hidden = 160,
                                 .num_vocab = 256,
                                 .type = type});
    const ModelRunner::Options options{.context_tokens = 256, .kv_type = KvType::f16};
    const auto with = gpu_or_fail(path, options);
    const auto without = value_of(open_on_gpu(path, options, {}));
    CHECK(with->backend().info().kernels.ends_with(", prompts by cuBLAS, flash attention"));
    CHECK(without->backend().info().kernels.ends_with(", prompts without cuBLAS, flash attention"));
    const auto cpu = open_or_fail(path, options);
    const std::vector<int32_t> tokens = counted(140);
    const auto logits = value_of(with->evaluate(tokens, 64));
    CHECK(relative_error(logits, value_of(without->evaluate(tokens, 64))) < limit);
    CHECK(relative_error(logits, value_of(cpu->evaluate(tokens, 64))) < 2e-3);
    // Rows do not depend on how many there are.
    const auto few = value_of(with->evaluate(std::span(tokens).first(20), 20));
    CHECK(std::equal(few.begin(), few.end(), logits.begin()));
}

}  // namespace

TEST_CASE("CUDA backend: prompts of weights that are not quantised go through cuBLAS", "[cuda]") {
    if (test_blas() == nullptr) return report_skip("cuBLAS is not installed");
    check_library(TensorType::f32, 1e-4);
    check_library(TensorType::f16, 1e-4);
    check_library(TensorType::bf16, 1e-3);
}

TEST_CASE("CUDA backend: cuBLAS as the reference of quantised prompts", "[cuda]") {
    if (test_blas() == nullptr) return report_skip("cuBLAS is not installed");
    for (const char* name : {"llama256-Q4_K_M", "qwen2_256-Q8_0", "llama256-IQ2_XS"}) {
        const auto folder = find_golden_or_copy("quants/models");
        if (!folder || !fs::exists(*folder / name)) return report_skip("no golden/quants/models");
        INFO(name);
        const ModelRunner::Options options{.context_tokens = 192};
        const fs::path path = *folder / name / "model.gguf";
        const auto reference = value_of(open_on_gpu(
            path, options, {.blas = test_blas(), .products = cuda::PrefillProducts::reference}));
        CHECK(reference->backend().info().kernels.find("by cuBLAS as reference") !=
              std::string::npos);
        ModelRunner::Options exact = options;
        exact.exact = true;
        const auto cpu = open_or_fail(path, exact);
        const std::vector<int32_t> tokens = counted(70);
        // Halves are at least as close to what the file says as codes of eight bits.
        const auto expected = value_of(cpu->evaluate(tokens, 64));
        const auto own = gpu_or_fail(path, options);
        const double error = relative_error(value_of(reference->evaluate(tokens, 64)), expected);
        CHECK(error > 0);
        CHECK(error < 3e-2);
        CHECK(error < 1.1 * relative_error(value_of(own->evaluate(tokens, 64)), expected));
    }
}

TEST_CASE("CUDA backend: a token is one graph, one wait, no allocation", "[cuda][quick]") {
    if (!is_test_gpu_emulated()) return report_skip("the driver counts nothing");
    const auto runner = gpu_or_fail(tiny_model(), {.context_tokens = 128});
    value_of(runner->append(counted(9)));
    const emulation::FakeDriverCounts before = emulation::FakeDriver::counts();
    const int32_t token = 5;
    value_of(runner->append({&token, 1}));
    const emulation::FakeDriverCounts& after = emulation::FakeDriver::counts();
    CHECK(after.num_allocations == before.num_allocations);
    CHECK(after.num_synchronizations == before.num_synchronizations + 1);
    CHECK(after.num_graph_launches == before.num_graph_launches + 1);
    CHECK(after.num_pageable_copies == before.num_pageable_copies);
    // Context, graph, logits, wait.
    CHECK(after.num_calls == before.num_calls + 4);
}

namespace {

/// A model of quantised weights as they are mostly used.
struct MixedModel {
    MixedModel() { write_synthetic_model(path, shape); }
    SyntheticShape shape{.num_layers = 2, .num_vocab = 256, .type = TensorType::q4_k};
    ScratchFolder folder;
    fs::path path = folder / "model.gguf";
};

uint64_t launches_of(ModelRunner& runner, std::span<const int32_t> tokens) {
    const uint64_t before = emulation::FakeDriver::counts().num_launches;
    value_of(runner.append(tokens));
    return emulation::FakeDriver::counts().num_launches - before;
}

}  // namespace

TEST_CASE("CUDA backend: a layer is at most seven launches for a token", "[cuda][quick]") {
    if (!is_test_gpu_emulated()) return report_skip("the driver counts nothing");
    const MixedModel model;
    const auto runner = gpu_or_fail(model.path, {.context_tokens = 128, .kv_type = KvType::f16});
    // Of a prompt: norm, products, rotation, flash attention and quantisation are one launch each,
    // whatever the number of rows.
    const uint64_t of_prompt = launches_of(*runner, counted(20));
    CHECK(of_prompt <= 1 + 2 * 13 + 2);
    runner->reset();
    CHECK(launches_of(*runner, counted(60)) == of_prompt);
    // Norm in front, two layers, head. One layer has its values in another type.
    CHECK(launches_of(*runner, counted(1)) == 1 + 6 + 7 + 1);
}

TEST_CASE("CUDA backend: norms behind branches are part of the product's launch", "[cuda][quick]") {
    const ScratchFolder folder;
    const fs::path path = folder / "model.gguf";
    write_synthetic_model(path, {.architecture = "gemma2",
                                 .num_layers = 2,
                                 .num_vocab = 256,
                                 .is_tied = true,
                                 .type = TensorType::q8_0});
    const auto gpu = gpu_or_fail(path, {.context_tokens = 128});
    const auto cpu = open_or_fail(path, {.context_tokens = 128});
    const std::vector<int32_t> tokens = counted(6);
    const auto decoded = value_of(gpu->evaluate(tokens, 1));
    CHECK((value_of(gpu->evaluate(tokens, 6)) == decoded));
    CHECK(relative_error(decoded, value_of(cpu->evaluate(tokens, 6))) < 2e-2);
    if (is_test_gpu_emulated()) CHECK(launches_of(*gpu, counted(1)) == 1 + 2 * 6 + 1);
}

TEST_CASE("CUDA backend: a token is one cooperative launch where that is wanted", "[cuda]") {
    const MixedModel model;
    const ModelRunner::Options options{.context_tokens = 128, .kv_type = KvType::f16};
    const auto plain = gpu_or_fail(model.path, options);
    const auto persistent = value_of(open_on_gpu(model.path, options, {.is_persistent = true}));
    const std::string prompts = "prompts by int8 kernels, flash attention";
    CHECK(persistent->backend().info().kernels.ends_with(", one launch for a token, " + prompts));
    CHECK(plain->backend().info().kernels.ends_with(", a graph for a token, " + prompts));
    const std::vector<int32_t> tokens = counted(12);
    // Sums in another order, as blocks are smaller.
    CHECK(relative_error(value_of(persistent->evaluate(tokens, 1)),
                         value_of(plain->evaluate(tokens, 1))) < 1e-3);
    CHECK(value_of(persistent->greedy(tokens, 6)) == value_of(plain->greedy(tokens, 6)));
    if (is_test_gpu_emulated()) CHECK(launches_of(*persistent, counted(1)) == 1);
    const std::string kernels = persistent->backend().info().kernels;
    REQUIRE(persistent->backend().grow_kv(5).ok());
    CHECK(persistent->backend().info().kernels == kernels);
    REQUIRE(plain->backend().grow_kv(5).ok());
    CHECK(value_of(persistent->greedy(tokens, 3)) == value_of(plain->greedy(tokens, 3)));
    // The kernel does no float32 weights: as if it were not wanted.
    const auto other = value_of(open_on_gpu(tiny_model(), options, {.is_persistent = true}));
    CHECK(other->backend().info().kernels.find("one launch") == std::string::npos);
    value_of(other->append(counted(1)));
}

namespace {

void check_best_logits(uint32_t num_vocab) {
    INFO(num_vocab << " tokens");
    const ScratchFolder folder;
    write_synthetic_model(folder / "model.gguf", {.num_layers = 1,
                                                  .dim = 64,
                                                  .num_heads = 1,
                                                  .num_kv_heads = 1,
                                                  .hidden = 64,
                                                  .num_vocab = num_vocab});
    const auto runner = gpu_or_fail(folder / "model.gguf", {.context_tokens = 128});
    const std::vector<int32_t> tokens = counted(13);
    const std::vector<uint32_t> rows = {0, 2, 3, 4, 12};
    for (const uint32_t num_tokens : {3u, 13u}) {  // Decoding, and a prompt.
        const StepSequence sequence{0, num_tokens, 0, runner->blocks(0)};
        Step step{.tokens = std::span(tokens).first(num_tokens),
                  .sequences = {&sequence, 1},
                  .logit_rows = std::span(rows).first(num_tokens == 3 ? 2 : 5)};
        const auto all = value_of(runner->backend().run(step));
        const std::vector<float> expected(all.begin(), all.end());
        step.num_best = 40;
        for (int repeat = 0; repeat < 2; ++repeat) {
            const uint64_t before = emulation::FakeDriver::counts().bytes_to_host;
            const auto best = value_of(runner->backend().run(step));
            if (is_test_gpu_emulated()) {
                CHECK(emulation::FakeDriver::counts().bytes_to_host - before ==
                      step.logit_rows.size() * cuda::kNumBest * 8);
            }
            for (size_t row = 0; row < step.logit_rows.size(); ++row) {
                const auto full = row_of(expected, row, num_vocab);
                const auto few = row_of(best, row, num_vocab);
                std::vector<float> sorted(full.begin(), full.end());
                std::sort(sorted.begin(), sorted.end(), std::greater<>());
                for (size_t i = 0; i < num_vocab; ++i) {
                    const bool is_best = full[i] >= sorted[cuda::kNumBest - 1];
                    REQUIRE(few[i] ==
                            (is_best ? full[i] : -std::numeric_limits<float>::infinity()));
                }
            }
        }
        step.num_best = 0;
        const auto again = value_of(runner->backend().run(step));
        CHECK(std::equal(again.begin(), again.end(), expected.begin(), expected.end()));
    }
}

}  // namespace

TEST_CASE("CUDA backend: where a few logits decide only these cross the bus", "[cuda][quick]") {
    check_best_logits(300);
}

TEST_CASE("CUDA backend: the few best of a vocabulary of several chunks", "[cuda]") {
    check_best_logits(9000);
}

TEST_CASE("CUDA backend: rows of several sequences do not see each other", "[cuda][quick]") {
    const ModelRunner::Options options{.context_tokens = 128, .num_sequences = 3};
    const auto gpu = gpu_or_fail(tiny_model(), options);
    const auto cpu = open_or_fail(tiny_model(), options);
    const std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    const std::vector<StepSequence> sequences = {
        {0, 1, 0, gpu->blocks(0)}, {1, 2, 0, gpu->blocks(1)}, {3, 10, 0, gpu->blocks(2)}};
    const std::vector<uint32_t> rows = {0, 2, 3, 12};
    const Step step{.tokens = tokens, .sequences = sequences, .logit_rows = rows};
    const auto expected = value_of(cpu->backend().run(step));
    const std::vector<float> kept(expected.begin(), expected.end());
    CHECK(max_difference(value_of(gpu->backend().run(step)), kept) < 1e-4f);
}

TEST_CASE("CUDA backend: KV blocks are copied, grown, and leave in the file's layout",
          "[cuda][quick]") {
    for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
        INFO(kv_type_name(type));
        const ModelRunner::Options options{.context_tokens = 192, .kv_type = type};
        const auto gpu = gpu_or_fail(tiny_model(), options);
        const auto cpu = open_or_fail(tiny_model(), options);
        value_of(gpu->append(counted(70)));
        value_of(cpu->append(counted(70)));
        Backend& on_gpu = gpu->backend();
        Backend& on_cpu = cpu->backend();
        REQUIRE(on_gpu.kv_block_bytes() == on_cpu.kv_block_bytes());
        std::vector<std::byte> a(on_gpu.kv_block_bytes()), b(a.size());
        // Block 2 holds the first 64 positions, block 1 six more; the rest reads as zeros.
        for (const auto& [block, count] : {std::pair{2u, 64u}, std::pair{1u, 6u}}) {
            on_gpu.read_block(block, count, a);
            on_cpu.read_block(block, count, b);
            if (type == KvType::f32) {
                const auto* x = reinterpret_cast<const float*>(a.data());
                const auto* y = reinterpret_cast<const float*>(b.data());
                CHECK(max_difference({x, a.size() / 4}, {y, b.size() / 4}) < 1e-5f);
            }
        }
        // What the CPU wrote goes on here: the same next token.
        for (const uint32_t block : {2u, 1u}) {
            on_cpu.read_block(block, 64, b);
            on_gpu.write_block(block, b);
        }
        on_gpu.copy_block(1, 0);
        REQUIRE(on_gpu.grow_kv(5).ok());
        const std::vector<uint32_t> table = {2, 0};
        const int32_t token = 9;
        const uint32_t row = 0;
        const StepSequence moved{0, 1, 70, table};
        const Step step{.tokens = {&token, 1}, .sequences = {&moved, 1}, .logit_rows = {&row, 1}};
        const auto expected = value_of(cpu->append({&token, 1}));
        CHECK(max_difference(value_of(on_gpu.run(step)), expected) < 1e-3f);
    }
}

TEST_CASE("CUDA backend: a trace has the CPU's stages and values", "[cuda][quick]") {
    const auto gpu = gpu_or_fail(tiny_model(), {.context_tokens = 128});
    const auto cpu = open_or_fail(tiny_model(), {.context_tokens = 128});
    using Seen = std::vector<std::pair<std::string, std::vector<float>>>;
    const auto traced = [](ModelRunner& runner) {
        Seen seen;
        StepTrace trace{.stages = true,
                        .on_values = [&](const std::string& name, std::span<const float> values) {
                            seen.emplace_back(name,
                                              std::vector<float>(values.begin(), values.end()));
                        }};
        value_of(runner.append(counted(11), &trace));
        return seen;
    };
    const Seen expected = traced(*cpu), seen = traced(*gpu);
    REQUIRE(seen.size() == expected.size());
    for (size_t i = 0; i < seen.size(); ++i) {
        INFO(expected[i].first);
        CHECK(seen[i].first == expected[i].first);
        CHECK(max_difference(seen[i].second, expected[i].second) < 1e-4f);
    }
}

TEST_CASE("CUDA backend: steps that are wrong, stopped or not finite are errors", "[cuda][quick]") {
    const auto runner = gpu_or_fail(tiny_model(), {.context_tokens = 128});
    const int32_t bad_token = 5000;
    CHECK(runner->append({&bad_token, 1}).error().code == ErrorCode::bad_argument);
    std::stop_source stop;
    stop.request_stop();
    const std::vector<int32_t> tokens = counted(3);
    const StepSequence sequence{0, 3, 0, runner->blocks(0)};
    const Step step{
        .tokens = tokens, .sequences = {&sequence, 1}, .logit_rows = {}, .stop = stop.get_token()};
    CHECK(runner->backend().run(step).error().code == ErrorCode::cancelled);
    const DamagedModel damaged(tiny_model(), "blk.1.ffn_down.weight");
    const auto broken = gpu_or_fail(damaged.path(), {.context_tokens = 128});
    const auto result = broken->append(counted(3));
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::numeric);
    CHECK(result.error().where.find("layer 1") != std::string::npos);
}
