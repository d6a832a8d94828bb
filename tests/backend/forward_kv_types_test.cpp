// SPDX-License-Identifier: Apache-2.0
// The forward pass with keys and values stored in 16, 8 and 4 bits, on tiny models of every
// architecture beside the same with float32. forward_real_test.cpp has the real models.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
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

/// Whether small differences can grow: key biases make scales coarse, and experts are chosen or
/// not.
bool is_sensitive(const ModelRunner& runner) {
    const Model& model = runner.model();
    for (size_t i = 0; i < model.spec().layers.size(); ++i)
        if (model.weights().layers[i].bk.data != nullptr || model.spec().layers[i].ffn.experts)
            return true;
    return false;
}

struct Agreement {
    double relative_error = 0;
    size_t num_equal = 0, num_positions = 0;  // Positions with the same most likely token.
    bool is_sensitive = false;
};

Agreement compare(ModelRunner& runner, ModelRunner& plain, const std::vector<int32_t>& tokens) {
    const size_t num_vocab = plain.num_vocab();
    const auto want = value_of(plain.evaluate(tokens, 64));
    const auto prefill = value_of(runner.evaluate(tokens, 64));
    const auto decode = value_of(runner.evaluate(tokens, 1));
    Agreement agreement{
        .relative_error = std::max(relative_error(prefill, want), relative_error(decode, want)),
        .num_positions = tokens.size()};
    for (size_t i = 0; i < tokens.size(); ++i)
        if (argmax(row_of(prefill, i, num_vocab)) == argmax(row_of(want, i, num_vocab)))
            ++agreement.num_equal;
    return agreement;
}

/// The worst error of the model's golden cases, and all their tokens.
Agreement compare_all(const fs::path& folder, KvType type, bool exact) {
    const auto plain = open_or_fail(folder / "model.gguf", {.exact = exact});
    const auto runner = open_or_fail(folder / "model.gguf", {.exact = exact, .kv_type = type});
    Agreement all;
    for (const GoldenCase& golden : read_golden_cases(folder / "visible.json")) {
        const Agreement agreement = compare(*runner, *plain, golden.tokens);
        all.relative_error = std::max(all.relative_error, agreement.relative_error);
        all.num_equal += agreement.num_equal;
        all.num_positions += agreement.num_positions;
    }
    all.is_sensitive = is_sensitive(*plain);
    return all;
}

/// Limits: about twice the worst model measured, of 49. A wrong scale or layout gives above 1.
/// Returns the relative error.
double check_type(const fs::path& folder, KvType type, bool exact) {
    const Agreement all = compare_all(folder, type, exact);
    const bool is_half = type == KvType::f16;
    const double limit = all.is_sensitive ? (is_half ? 0.1 : 0.5) : (is_half ? 0.005 : 0.12);
    INFO(folder.filename().string() << " " << kv_type_name(type) << " exact " << exact);
    CHECK(all.relative_error <= limit);
    CHECK(all.num_equal >= all.num_positions * (is_half ? 98 : 70) / 100);
    return all.relative_error;
}

/// A step of q4_0 is an 8th of the largest of 32 numbers, of q8_0 a 127th: by gguf 0.19.0 (PyPI)
/// the mean square error is 258 times q8_0's on normal numbers and 299 times on even ones, which
/// end nearer to the largest. So is the error of what follows from them linearly; 2 for what does
/// not, as experts are chosen or not.
void check_nibbles(const fs::path& folder, bool exact, double error_of_codes) {
    const Agreement all = compare_all(folder, KvType::q4_0, exact);
    INFO(folder.filename().string() << " q4_0 exact " << exact << ", q8_0 " << error_of_codes);
    CHECK(all.relative_error <= 2 * std::sqrt(299) * error_of_codes);
}

}  // namespace

TEST_CASE("Forward: tiny models of each architecture stay themselves with 16, 8 and 4 bits",
          "[backend][quick][lanes]") {
    const auto arch = find_golden("arch");
    if (!arch) return report_skip("golden/arch is not there");
    size_t num_models = 0;
    for (const auto& entry : fs::directory_iterator(*arch)) {
        if (!fs::exists(entry.path() / "model.gguf")) continue;
        if (!ModelRunner::open(entry.path() / "model.gguf", {}).ok()) continue;
        ++num_models;
        for (const bool exact : {true, false}) {
            check_type(entry.path(), KvType::f16, exact);
            check_nibbles(entry.path(), exact, check_type(entry.path(), KvType::q8_0, exact));
        }
    }
    CHECK(num_models >= 40);
}

TEST_CASE("CpuBackend: the smaller types take half, 27 and 14 % of the memory",
          "[backend][quick]") {
    // 64 positions: 2 KV heads of 8 + 8 dimensions in 3 layers; rows of values have 16 at least.
    const auto path = *find_golden_or_copy("arch/llama_bias/model.gguf");
    const auto half = open_or_fail(path, {.context_tokens = 64, .kv_type = KvType::f16});
    CHECK(half->backend().info().kv_bytes == 3 * 2 * 64 * (8 * 2 + 16 * 2));
    const auto codes = open_or_fail(path, {.context_tokens = 64, .kv_type = KvType::q8_0});
    CHECK(codes->backend().info().kv_bytes == 3 * 2 * 64 * (8 + 2 + 16 + 2));
    // Groups of 32 dimensions have 16 bytes, however few of them there are.
    const auto nibbles = open_or_fail(path, {.context_tokens = 64, .kv_type = KvType::q4_0});
    CHECK(nibbles->backend().info().kv_bytes == 3 * 2 * 64 * (16 + 2 + 16 + 2));
}

TEST_CASE("CpuBackend: the smaller types take half, 27 and 14 % of a real model's memory",
          "[backend][model]") {
    const auto starter = find_model("smollm2");
    if (!starter) return report_skip("the model smollm2 is not downloaded");
    const auto runner = open_or_fail(*starter, {.context_tokens = 64});
    // 3 KV heads of 64 + 64 dimensions in 30 layers.
    CHECK(cpu_kv_block_bytes(runner->model().spec(), KvType::f32) == 64 * 30 * 3 * 128 * 4);
    CHECK(cpu_kv_block_bytes(runner->model().spec(), KvType::f16) == 64 * 30 * 3 * 128 * 2);
    CHECK(cpu_kv_block_bytes(runner->model().spec(), KvType::q8_0) == 64 * 30 * 3 * (128 + 4 * 2));
    CHECK(cpu_kv_block_bytes(runner->model().spec(), KvType::q4_0) == 64 * 30 * 3 * (64 + 4 * 2));
}

TEST_CASE("CpuBackend: a block that was read and written elsewhere is the same to the bit",
          "[backend][quick]") {
    const auto path = *find_golden_or_copy("arch/llama_bias/model.gguf");
    std::vector<int32_t> tokens(64);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 + 3);
    for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0, KvType::q4_0}) {
        INFO(kv_type_name(type));
        // Block tables are in reverse order: sequence 0 starts in block 1.
        const auto runner = open_or_fail(path, {.context_tokens = 128, .kv_type = type});
        Backend& backend = runner->backend();
        REQUIRE(backend.kv_block_bytes() == cpu_kv_block_bytes(runner->model().spec(), type));
        value_of(runner->append(tokens));
        std::vector<std::byte> whole(backend.kv_block_bytes()), part(whole.size());
        backend.read_block(1, 64, whole);
        const auto want = value_of(runner->append(std::span(tokens).first(1)));
        const auto other = open_or_fail(path, {.context_tokens = 128, .kv_type = type});
        value_of(other->append(std::vector<int32_t>(64, 9)));
        other->backend().write_block(1, whole);
        CHECK(value_of(other->append(std::span(tokens).first(1))) == want);

        // A text of 10 tokens is all that may be seen where a longer one was before.
        const auto fresh = open_or_fail(path, {.context_tokens = 128, .kv_type = type});
        value_of(fresh->append(std::span(tokens).first(10)));
        std::vector<std::byte> alone(whole.size());
        fresh->backend().read_block(1, 64, alone);
        runner->reset();
        value_of(runner->append(std::span(tokens).first(10)));
        backend.read_block(1, 10, part);
        CHECK(part == alone);
        backend.read_block(1, 64, part);
        CHECK(part != alone);
    }
}

TEST_CASE("CpuBackend: blocks read from a whole model serve one that is split, and back",
          "[backend][quick]") {
    const auto path = *find_golden_or_copy("arch/llama_bias/model.gguf");
    std::vector<int32_t> tokens(64);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 + 3);
    const std::vector<int32_t> next = {11};
    for (const KvType type : {KvType::f32, KvType::q8_0, KvType::q4_0}) {
        const auto whole = open_or_fail(path, {.context_tokens = 128, .kv_type = type});
        value_of(whole->append(tokens));
        std::vector<std::byte> bytes(whole->backend().kv_block_bytes());
        whole->backend().read_block(1, 50, bytes);
        whole->reset();
        value_of(whole->append(std::span(tokens).first(50)));
        const auto want = value_of(whole->append(next));
        for (const uint32_t num_ranks : {2u, 4u}) {  // four share two KV heads
            INFO(kv_type_name(type) << ", " << num_ranks << " ranks");
            const auto split = open_or_fail(
                path, {.context_tokens = 128, .num_ranks = num_ranks, .kv_type = type});
            REQUIRE(split->backend().kv_block_bytes() == bytes.size());
            value_of(split->append(std::vector<int32_t>(50, 9)));
            split->backend().write_block(1, bytes);
            CHECK(max_difference(value_of(split->append(next)), want) <= 1e-4f);
            split->backend().write_block(1, bytes);
            std::vector<std::byte> back(bytes.size());
            split->backend().read_block(1, 50, back);
            CHECK(back == bytes);
        }
    }
}
