// SPDX-License-Identifier: Apache-2.0
// The CUDA backend against the exact CPU backend on models that are made here, so that a machine
// with a GPU needs no model files: what differs on a GPU, and every type of weights.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/quant_blocks.h"
#include "cuda/support/cuda_runner.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/synthetic_model.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// The longest text that the model has rows for on a device; beyond a block of the context and
/// every window. Fewer where each thread is emulated.
std::vector<int32_t> text_of(uint32_t num_vocab) {
    std::vector<int32_t> tokens(is_test_gpu_emulated() ? 14 : 150);
    for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<int32_t>((i * 37 + 11) % num_vocab);
    return tokens;
}

/// How far logits may be off, by their size: float32 sums of halves in the context, where here and
/// there one is rounded the other way; codes of eight bits for what goes into products, seven in a
/// row in each of two layers, each of which adds half a percent (a group's largest value, some 2.5
/// times the usual one, over 127 and over the square root of 12, twice for weights of their own).
double limit_of(TensorType type, KvType kv_type) {
    const bool is_float =
        type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
    return is_float && kv_type == KvType::f16 ? 3e-3 : 3e-2;
}

/// Logits of all rows, and the device's first choices where the reference leads by more than both
/// may be off. Of the rows of a model with experts one in eight may be anything: where two experts
/// are nearly equal the router may take the other one.
void check_logits(std::span<const float> values, std::span<const float> reference,
                  const SyntheticShape& shape, double limit) {
    size_t num_compared = 0, num_off = 0;
    const size_t num_rows = reference.size() / shape.num_vocab;
    std::vector<float> kept, expected;
    for (size_t i = 0; i < num_rows; ++i) {
        INFO("position " << i);
        const auto row = row_of(reference, i, shape.num_vocab),
                   own = row_of(values, i, shape.num_vocab);
        if (shape.num_experts > 0 && relative_error(own, row) > 2 * limit) {
            ++num_off;
            continue;
        }
        kept.insert(kept.end(), own.begin(), own.end());
        expected.insert(expected.end(), row.begin(), row.end());
        double squares = 0;
        for (const float value : row) squares += double{value} * double{value};
        const double size = std::sqrt(squares / static_cast<double>(row.size()));
        std::vector<float> sorted(row.begin(), row.end());
        std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end(), std::greater<>());
        // Six deviations of the difference of two logits' errors.
        if (double{sorted[0]} - double{sorted[1]} <= 6 * std::sqrt(2.0) * limit * size) continue;
        ++num_compared;
        CHECK(argmax(own) == argmax(row));
    }
    CHECK(relative_error(kept, expected) < limit);
    CHECK(num_off * 8 <= num_rows);
    INFO(num_compared << " first choices of " << num_rows << " compared");
    CHECK(num_compared * 8 >= num_rows);
}

void check_generated(const SyntheticShape& shape, KvType kv_type = KvType::f16) {
    INFO(shape.architecture << " of " << traits_of(shape.type).name << ", context of "
                            << kv_type_name(kv_type));
    const ScratchFolder folder;
    const auto path = folder / "model.gguf";
    write_synthetic_model(path, shape);
    const ModelRunner::Options options{.context_tokens = 192, .kv_type = kv_type};
    const auto cpu = open_or_fail(path, options);
    const auto gpu = value_of(open_on_gpu(path, options));
    // The reference's own text behind the prompt: what follows is what it would choose.
    std::vector<int32_t> tokens = text_of(shape.num_vocab);
    const auto text = value_of(cpu->greedy(tokens, 6));
    tokens.insert(tokens.end(), text.begin(), text.end() - 1);
    const auto expected = value_of(cpu->evaluate(tokens, 64));
    const double limit = limit_of(shape.type, kv_type);
    const auto prompt = value_of(gpu->evaluate(tokens, 64));
    check_logits(prompt, expected, shape, limit);
    const auto decoded = value_of(gpu->evaluate(tokens, 1));
    check_logits(decoded, expected, shape, limit);
    CHECK((value_of(gpu->evaluate(tokens, kDecodeRows)) == decoded));
}

SyntheticShape shape_of(const std::string& architecture, TensorType type) {
    return {.architecture = architecture, .num_vocab = 256, .type = type};
}

}  // namespace

TEST_CASE("Generated models: seven heads for each key of 64, biases of keys of 175", "[cuda]") {
    // Scores of such keys are so large that codes of eight bits decide between two of them.
    SyntheticShape shape = shape_of("qwen2", TensorType::f16);
    shape.num_heads = 7, shape.num_kv_heads = 1, shape.key_bias = 175;
    check_generated(shape);
    shape.type = TensorType::q4_k, shape.key_bias = 4;
    check_generated(shape);
}

TEST_CASE("Generated models: heads of 128, two for each key, in a context of codes", "[cuda]") {
    SyntheticShape shape = shape_of("llama", TensorType::q5_k);
    shape.num_heads = 4, shape.num_kv_heads = 2, shape.head_dim = 128;
    check_generated(shape, KvType::q8_0);
}

TEST_CASE("Generated models: heads of 96 and 80, which no kernel is made for", "[cuda]") {
    SyntheticShape shape = shape_of("llama", TensorType::q4_0);
    shape.head_dim = 96;
    check_generated(shape);
    shape.head_dim = 80, shape.type = TensorType::f16;
    check_generated(shape);
}

TEST_CASE("Generated models: norms of queries and keys", "[cuda]") {
    SyntheticShape shape = shape_of("qwen3", TensorType::q6_k);
    shape.head_dim = 128;
    check_generated(shape);
}

TEST_CASE("Generated models: windows, softcaps and norms behind branches", "[cuda]") {
    SyntheticShape shape = shape_of("gemma2", TensorType::q8_0);
    shape.window = 9;
    check_generated(shape);
    shape.type = TensorType::bf16;
    check_generated(shape, KvType::q8_0);
}

TEST_CASE("Generated models: windows with a rotation of their own", "[cuda]") {
    SyntheticShape shape = shape_of("gemma3", TensorType::iq4_xs);
    shape.window = 9;
    check_generated(shape, KvType::q8_0);
}

TEST_CASE("Generated models: rotation of a part of each head, norms with biases", "[cuda]") {
    for (const char* architecture : {"stablelm", "phi2"}) {
        SyntheticShape shape = shape_of(architecture, TensorType::q5_0);
        shape.rope_dims = 24, shape.num_kv_heads = shape.num_heads;
        check_generated(shape);
    }
}

TEST_CASE("Generated models: experts", "[cuda]") {
    for (const auto& [architecture, type] :
         {std::pair{"llama", TensorType::q4_k}, {"qwen3moe", TensorType::iq2_xs}}) {
        SyntheticShape shape = shape_of(architecture, type);
        shape.num_experts = 4, shape.num_experts_used = 2, shape.hidden = 256;
        check_generated(shape);
    }
}

TEST_CASE("Generated models: experts of MXFP4 with biases, sinks and windows", "[cuda]") {
    SyntheticShape shape = shape_of("gpt-oss", TensorType::mxfp4);
    shape.num_experts = 4, shape.num_experts_used = 2, shape.hidden = 256;
    shape.window = 9, shape.key_bias = 1;
    check_generated(shape);
}

TEST_CASE("Generated models: every type of weights", "[cuda]") {
    for (const TensorType type : weight_types()) {
        SyntheticShape shape = shape_of("llama", type);
        shape.num_layers = 1, shape.num_heads = 2, shape.num_kv_heads = 1, shape.hidden = 256;
        check_generated(shape);
    }
}

TEST_CASE("Generated models: one of four bits for the inner loop", "[cuda][quick]") {
    SyntheticShape shape = shape_of("llama", TensorType::q4_k);
    shape.num_layers = 1, shape.num_heads = 2, shape.num_kv_heads = 1, shape.hidden = 256;
    check_generated(shape);
}
