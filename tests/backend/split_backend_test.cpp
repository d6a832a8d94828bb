// SPDX-License-Identifier: Apache-2.0
// A model on two backends and more, all of the CPU, against the same model on one: bit by bit the
// same logits, text, traces, blocks and errors.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "backend/split_backend.h"
#include "base/try.h"
#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/golden.h"
#include "support/scratch_folder.h"
#include "support/synthetic_model.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

/// A part ends behind so many layers each, the last one with the model.
ModelRunner::MakeBackend split_after(std::vector<uint32_t> cuts, bool has_rest = true) {
    return [cuts, has_rest](const Model& model,
                            const BackendOptions& options) -> Result<std::unique_ptr<Backend>> {
        std::vector<uint32_t> ends = cuts;
        ends.push_back(model.spec().num_layers);
        std::vector<ModelPart> parts;
        uint32_t begin = 0;
        for (const uint32_t end : ends) {
            ModelPart part;
            part.model = std::make_unique<const Model>(model.layers(begin, end));
            HOKKU_TRY(part.backend, make_cpu_backend(*part.model, options));
            part.num_layers = end - begin;
            part.is_rest = has_rest && begin == 0;
            parts.push_back(std::move(part));
            begin = end;
        }
        return make_split_backend(std::move(parts));
    };
}

std::vector<int32_t> counted(int32_t count) {
    std::vector<int32_t> tokens(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) tokens[static_cast<size_t>(i)] = i * 7 % 90 + 3;
    return tokens;
}

void check_split(const fs::path& path, const ModelRunner::Options& options) {
    const auto whole = value_of(ModelRunner::open(path, options));
    const uint32_t num_layers = whole->model().spec().num_layers;
    REQUIRE(num_layers > 1);
    const std::vector<int32_t> tokens = counted(23);
    const auto expected = value_of(whole->evaluate(tokens, 64));
    const auto expected_decoded = value_of(whole->evaluate(tokens, 1));
    for (uint32_t num_front = 1; num_front < num_layers; ++num_front) {
        INFO(num_front << " layers in front");
        std::vector<uint32_t> cuts = {num_front};
        // The last time every layer is a part.
        if (num_front + 1 == num_layers) {
            cuts.clear();
            for (uint32_t layer = 1; layer < num_layers; ++layer) cuts.push_back(layer);
        }
        const auto split = value_of(ModelRunner::open(path, options, split_after(cuts)));
        CHECK((value_of(split->evaluate(tokens, 64)) == expected));
        CHECK((value_of(split->evaluate(tokens, 1)) == expected_decoded));
        CHECK((value_of(split->evaluate(tokens, 3)).size() == expected.size()));
        CHECK(value_of(split->greedy(tokens, 8)) == value_of(whole->greedy(tokens, 8)));
    }
}

struct FourLayers {
    explicit FourLayers(TensorType type = TensorType::f32) {
        write_synthetic_model(path, {.num_layers = 4,
                                     .dim = 64,
                                     .num_heads = 4,
                                     .num_kv_heads = 2,
                                     .head_dim = 16,
                                     .hidden = 96,
                                     .num_vocab = 128,
                                     .type = type});
    }
    ScratchFolder folder;
    fs::path path = folder / "model.gguf";
};

}  // namespace

TEST_CASE("Split model: every cut gives the logits of the whole, bit by bit", "[backend][quick]") {
    const FourLayers model;
    check_split(model.path, {.exact = true, .context_tokens = 128});
    check_split(model.path, {.exact = false, .context_tokens = 128, .kv_type = KvType::q8_0});
    const FourLayers quantised(TensorType::q8_0);
    check_split(quantised.path, {.exact = false, .context_tokens = 128, .kv_type = KvType::f16});
}

TEST_CASE("Split model: architectures of the reference", "[backend]") {
    for (const char* name : {"gemma2", "gpt2", "phi2", "gptoss", "olmo2", "gemma3_w16"}) {
        const auto folder = find_golden_or_copy(std::string("arch/") + name);
        if (!folder) {
            report_skip(std::string("golden/arch/") + name + " is not there");
            continue;
        }
        INFO(name);
        check_split(*folder / "model.gguf", {.context_tokens = 128});
    }
}

TEST_CASE("Split model: a trace has the layers of all parts, in order", "[backend][quick]") {
    const FourLayers model;
    const auto traced = [](ModelRunner& runner) {
        std::vector<std::pair<std::string, std::vector<float>>> seen;
        StepTrace trace{.stages = true,
                        .on_values = [&](const std::string& name, std::span<const float> values) {
                            seen.emplace_back(name,
                                              std::vector<float>(values.begin(), values.end()));
                        }};
        value_of(runner.append(counted(5), &trace));
        return seen;
    };
    const auto whole = value_of(ModelRunner::open(model.path, {}));
    const auto split = value_of(ModelRunner::open(model.path, {}, split_after({1, 3})));
    const auto expected = traced(*whole), seen = traced(*split);
    REQUIRE(expected.size() > 20);
    CHECK((seen == expected));
}

TEST_CASE("Split model: blocks are read, written, copied and grown on both sides",
          "[backend][quick]") {
    const FourLayers model;
    const ModelRunner::Options options{.context_tokens = 192, .kv_type = KvType::f16};
    const auto whole = value_of(ModelRunner::open(model.path, options));
    const auto split = value_of(ModelRunner::open(model.path, options, split_after({1, 2})));
    const std::vector<int32_t> tokens = counted(70);
    value_of(whole->append(tokens));
    value_of(split->append(tokens));
    Backend &a = whole->backend(), &b = split->backend();
    REQUIRE(a.kv_block_bytes() == b.kv_block_bytes());
    std::vector<std::byte> in_a(a.kv_block_bytes()), in_b(in_a.size());
    for (const auto& [block, count] : {std::pair{2u, 64u}, std::pair{1u, 6u}}) {
        a.read_block(block, count, in_a);
        b.read_block(block, count, in_b);
        CHECK((in_a == in_b));
    }
    // A block of the other, copied, after the pools have grown: the same next token.
    a.read_block(1, 6, in_a);
    REQUIRE(b.grow_kv(5).ok());
    b.write_block(4, in_a);
    b.copy_block(4, 3);
    const std::vector<uint32_t> table = {2, 3};
    const int32_t token = 9;
    const uint32_t row = 0;
    const StepSequence moved{0, 1, 70, table};
    const Step step{.tokens = {&token, 1}, .sequences = {&moved, 1}, .logit_rows = {&row, 1}};
    const auto expected = value_of(whole->append({&token, 1}));
    const auto got = value_of(b.run(step));
    CHECK(std::equal(got.begin(), got.end(), expected.begin(), expected.end()));
    CHECK(b.growth_blocks(uint64_t{1} << 30).value() > 5);
    CHECK(b.growth_blocks(1).value() == 0);
}

TEST_CASE("Split model: what it runs on is said, and what both take is added up",
          "[backend][quick]") {
    const FourLayers model;
    const auto whole = value_of(ModelRunner::open(model.path, {.num_threads = 1}));
    const auto split =
        value_of(ModelRunner::open(model.path, {.num_threads = 1}, split_after({1})));
    const BackendInfo &a = whole->backend().info(), &b = split->backend().info();
    CHECK(b.device ==
          "CPU reference, 1 thread, 3 of 4 layers; the others on CPU reference, 1 "
          "thread");
    CHECK(b.kernels == "reference");
    const auto three =
        value_of(ModelRunner::open(model.path, {.num_threads = 1}, split_after({1, 3}, false)));
    CHECK(three->backend().info().device ==
          "CPU reference, 1 thread, 1 layer; CPU reference, 1 thread, 2 layers; CPU reference, 1 "
          "thread, 1 layer");
    CHECK(three->backend().info().kv_bytes == a.kv_bytes);
    CHECK(three->backend().info().rank_weight_bytes == a.rank_weight_bytes);
    CHECK(b.kv_bytes == a.kv_bytes);
    CHECK(b.bytes_per_token == a.bytes_per_token);
    CHECK(b.rank_weight_bytes == a.rank_weight_bytes);
}

TEST_CASE("Split model: what is not finite is found in the layer of any part, stops are heard",
          "[backend][quick]") {
    const FourLayers model;
    for (const uint32_t layer : {0u, 1u, 3u}) {
        INFO("layer " << layer);
        const std::string name = "blk." + std::to_string(layer) + ".ffn_down.weight";
        const DamagedModel damaged(model.path, name);
        const auto split = value_of(ModelRunner::open(damaged.path(), {}, split_after({1, 2})));
        for (const int32_t count : {3, 9}) {
            split->reset();
            const auto result = split->append(counted(count));
            REQUIRE_FALSE(result.ok());
            CHECK(result.error().code == ErrorCode::numeric);
            CHECK(result.error().where == "first in layer " + std::to_string(layer));
        }
    }
    const auto split = value_of(ModelRunner::open(model.path, {}, split_after({2})));
    std::stop_source stop;
    stop.request_stop();
    const std::vector<int32_t> tokens = counted(3);
    const StepSequence sequence{0, 3, 0, split->blocks(0)};
    const Step step{
        .tokens = tokens, .sequences = {&sequence, 1}, .logit_rows = {}, .stop = stop.get_token()};
    CHECK(split->backend().run(step).error().code == ErrorCode::cancelled);
    // A step for later layers must say what those before gave.
    const Model part = split->model().layers(2, 4);
    const auto back = value_of(make_cpu_backend(part, {.num_kv_blocks = 2}));
    CHECK(back->run(step).error().code == ErrorCode::bad_argument);
}
